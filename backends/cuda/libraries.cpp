#include "backends/cuda/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include <cstdlib>
#include <vector>

#include "backends/base/error.h"
#include "backends/cuda/device.h"

namespace hopbench::cuda {
namespace {

#ifndef HB_EMULATED_CUDA

std::vector<std::string> files_like(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

/// Where the loader does not look by itself: the toolkit's usual place, and NVIDIA's packages for Python.
std::vector<std::string> places_of(const std::string& file) {
  std::vector<std::string> patterns = {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/",
                                       "/usr/local/cuda/targets/*-linux/lib/"};
  std::vector<std::string> sites = {"/usr/lib/python3*/dist-packages", "/usr/local/lib/python3*/*-packages",
                                    "/opt/*/.venv/lib/python3*/site-packages", "/opt/*/lib/python3*/site-packages"};
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* const prefix = std::getenv(variable);
    if (prefix != nullptr) sites.insert(sites.begin(), std::string(prefix) + "/lib/python3*/site-packages");
  }
  if (const char* const home = std::getenv("HOME")) {
    sites.push_back(std::string(home) + "/.local/lib/python3*/site-packages");
  }
  for (const std::string& site : sites) patterns.push_back(site + "/nvidia/*/lib/");
  std::vector<std::string> places;
  for (const std::string& pattern : patterns) {
    for (std::string& path : files_like(pattern + file)) places.push_back(std::move(path));
  }
  return places;
}

class Library {
 public:
  /// `needed`: a file beside it that it needs, and may not find there by itself.
  Library(const char* name, const std::string& file, const std::string& needed) : name_(name), file_(file) {
    if (open(file)) return;
    for (const std::string& path : places_of(file)) {
      if (!needed.empty()) dlopen((path.substr(0, path.rfind('/') + 1) + needed).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (open(path)) return;
    }
    throw environment_error(
        fmt::format("{} cannot be loaded: {}: set LD_LIBRARY_PATH to the folder of {}", name_, why_, file_));
  }

  template <class F>
  void find(F& function, const char* symbol) const {
    function = reinterpret_cast<F>(dlsym(handle_, symbol));
    if (function != nullptr) return;
    throw environment_error(
        fmt::format("{} ({}) has no {}: set LD_LIBRARY_PATH to the folder of another {}", name_, path_, symbol, file_));
  }

  void demand_major(int major, int built_for) const {
    if (major == built_for) return;
    throw environment_error(
        fmt::format("{} ({}) is version {}, this build is for {}: set LD_LIBRARY_PATH to the folder of {}", name_,
                    path_, major, built_for, file_));
  }

 private:
  bool open(const std::string& path) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* const error = dlerror();
      why_ = error != nullptr ? error : path + " was refused";
    }
    path_ = path;
    return handle_ != nullptr;
  }

  const char* name_;
  std::string file_, path_, why_;
  void* handle_ = nullptr;  // for as long as the process lives
};

#endif

template <class GetProperty>
std::string version(GetProperty get) {
  int major = 0, minor = 0, patch = 0;
  get(MAJOR_VERSION, &major);
  get(MINOR_VERSION, &minor);
  get(PATCH_LEVEL, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

template <class GetProperty>
[[maybe_unused]] int major_of(GetProperty get) {
  int major = 0;
  get(MAJOR_VERSION, &major);
  return major;
}

#ifdef HB_EMULATED_CUDA

// Stand-ins that the test is linked with.
#define HB_TAKE(function) table.function = &::function;

Blas load_blas() {
  Blas table;
  HB_CUBLAS_FUNCTIONS(HB_TAKE)
  return table;
}

Dnn load_dnn() {
  Dnn table;
  HB_CUDNN_FUNCTIONS(HB_TAKE)
  return table;
}

#else

#define HB_TAKE(function) library.find(table.function, #function);

Blas load_blas() {
  const std::string suffix = ".so." + std::to_string(CUBLAS_VER_MAJOR);
  const Library library("cuBLAS", "libcublas" + suffix, "libcublasLt" + suffix);
  Blas table;
  HB_CUBLAS_FUNCTIONS(HB_TAKE)
  library.demand_major(major_of(table.cublasGetProperty), CUBLAS_VER_MAJOR);
  return table;
}

Dnn load_dnn() {
  blas();  // which cuDNN looks for, too: by name, so that it finds the one that is loaded
  const Library library("cuDNN", "libcudnn.so." + std::to_string(CUDNN_MAJOR), "");
  Dnn table;
  HB_CUDNN_FUNCTIONS(HB_TAKE)
  library.demand_major(major_of(table.cudnnGetProperty), CUDNN_MAJOR);
  return table;
}

#endif
#undef HB_TAKE

constexpr const char* kLess = ": use a smaller model or batch, or fewer ranks on this GPU";

}  // namespace

const Blas& blas() {
  static const Blas table = load_blas();
  return table;
}

const Dnn& dnn() {
  static const Dnn table = load_dnn();
  return table;
}

std::string library_versions() {
  return "cuBLAS " + version(blas().cublasGetProperty) + ", cuDNN " + version(dnn().cudnnGetProperty);
}

// What the device itself reports says more than that a library failed over it: so that comes first.

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check_launch(what);
  throw environment_error(fmt::format("cuda: {}: cuBLAS: {}{}", what, blas().cublasGetStatusString(status),
                                      status == CUBLAS_STATUS_ALLOC_FAILED ? kLess : ""));
}

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  check_launch(what);
  throw environment_error(fmt::format("cuda: {}: cuDNN: {}{}", what, dnn().cudnnGetErrorString(status),
                                      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ? kLess : ""));
}

}  // namespace hopbench::cuda
