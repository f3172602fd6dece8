#include "backends/cuda/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "backends/base/error.h"

namespace hopbench::cuda {

SharedLibrary::SharedLibrary(const Search& search, const std::function<std::string(const SharedLibrary&)>& refusal) {
  std::string found, never_opened;
  const auto refuses = [&] {
    const std::string why = refusal(*this);
    if (why.empty()) return false;
    found += (found.empty() ? "" : "; ") + path() + ": " + why;
    dlclose(handle_);
    return true;
  };
  for (const std::string& place : search.places) {
    std::string file = place;
    if (search.of_one_name && open(place, search.beside, true)) {
      if (refuses()) continue;
      file = path();
      dlclose(handle_);
    }
    // If there was no room for a copy, the library itself is asked.
    if (open(file, search.beside, false)) {
      if (!refuses()) return;
    } else if (never_opened.empty()) {
      never_opened = why_;
    }
  }
  const std::string& file = search.places.back();
  throw environment_error(fmt::format("{} cannot be loaded: {}: set LD_LIBRARY_PATH to the folder of {}", search.name,
                                      found.empty() ? never_opened : found, file.substr(file.rfind('/') + 1)));
}

bool SharedLibrary::open(const std::string& place, const std::string& beside, bool apart) {
  const std::size_t folder = place.rfind('/');
  void* needed = nullptr;
  if (!beside.empty() && folder != std::string::npos && !apart)
    needed = dlopen((place.substr(0, folder + 1) + beside).c_str(), RTLD_NOW | RTLD_LOCAL);
  handle_ = apart ? dlmopen(LM_ID_NEWLM, place.c_str(), RTLD_LAZY | RTLD_LOCAL)
                  : dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) return true;
  const char* const error = dlerror();
  why_ = error != nullptr ? error : place + " was refused";
  if (needed != nullptr) dlclose(needed);
  return false;
}

void* SharedLibrary::address_of(const char* symbol) const { return dlsym(handle_, symbol); }

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  return dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 ? map->l_name : "";
}

}  // namespace hopbench::cuda
