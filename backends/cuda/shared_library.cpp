#include "backends/cuda/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "backends/base/error.h"

namespace hopbench::cuda {

SharedLibrary::SharedLibrary(const Search& search, const std::function<std::string(const SharedLibrary&)>& refusal) {
  std::string found, first_why;
  for (const std::string& place : search.places) {
    if (!open(place, search.beside, search.of_one_name)) {
      if (first_why.empty()) first_why = why_;
      continue;
    }
    const std::string file = path(), why = refusal(*this);
    if (why.empty() && !search.of_one_name) return;
    dlclose(handle_);
    if (why.empty() && open(file, search.beside, false) && refusal(*this).empty()) return;
    found += (found.empty() ? "" : "; ") + file + ": " + (why.empty() ? why_ : why);
  }
  const std::string& file = search.places.back();
  throw environment_error(fmt::format("{} cannot be loaded: {}: set LD_LIBRARY_PATH to the folder of {}", search.name,
                                      found.empty() ? first_why : found, file.substr(file.rfind('/') + 1)));
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
