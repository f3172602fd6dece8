#include "backends/cuda/libraries.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <glob.h>

#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/device.h"
#include "backends/cuda/gemm.h"
#include "backends/cuda/shared_library.h"

namespace hopbench::cuda {
namespace {

std::vector<std::string> loaded;  // files, in the order of loading

#ifndef HB_EMULATED_CUDA

std::vector<std::string> files_like(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::vector<std::string> library_path() {
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  std::vector<std::string> folders;
  std::istringstream text(path != nullptr ? path : "");
  for (std::string folder; std::getline(text, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder + "/");
  }
  return folders;
}

/// Returns the files to try: in LD_LIBRARY_PATH, next to the headers of the build, and where the loader finds one. Then
/// in folders that the loader does not know: the toolkit's, conda's, and those of NVIDIA's packages for Python.
std::vector<std::string> places_of(const std::string& file) {
  std::vector<std::string> patterns = library_path();
  patterns.insert(patterns.end(), {HB_CUDNN_INCLUDE "/../lib/", HB_CUDNN_INCLUDE "/../lib64/"});
  const std::size_t before = patterns.size();
  patterns.insert(patterns.end(),
                  {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/usr/local/cuda/targets/*-linux/lib/"});
  std::vector<std::string> sites = {"/usr/lib/python3*/dist-packages", "/usr/local/lib/python3*/*-packages",
                                    "/opt/*/.venv/lib/python3*/site-packages", "/opt/*/lib/python3*/site-packages"};
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* const prefix = std::getenv(variable);
    if (prefix == nullptr) continue;
    sites.insert(sites.begin(), std::string(prefix) + "/lib/python3*/site-packages");
    patterns.push_back(std::string(prefix) + "/lib/");
  }
  if (const char* const home = std::getenv("HOME")) {
    sites.push_back(std::string(home) + "/.local/lib/python3*/site-packages");
  }
  for (const std::string& site : sites) patterns.push_back(site + "/nvidia/*/lib/");
  std::vector<std::string> places;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (i == before) places.push_back(file);
    for (std::string& path : files_like(patterns[i] + file)) places.push_back(std::move(path));
  }
  return places;
}

std::string wrong_major(const char* what, int major, int built_for) {
  return major == built_for ? "" : fmt::format("it is {} {}, this build is for {}", what, major, built_for);
}

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

#define HB_TAKE(function) \
  if (!library.find(table.function, #function)) return std::string("it has no " #function);

Blas load_blas() {
  const std::string suffix = ".so." + std::to_string(CUBLAS_VER_MAJOR);
  Blas table;
  const auto refusal = [&](const SharedLibrary& library) {
    HB_CUBLAS_FUNCTIONS(HB_TAKE)
    return wrong_major("version", major_of(table.cublasGetProperty), CUBLAS_VER_MAJOR);
  };
  const SharedLibrary library({"cuBLAS", places_of("libcublas" + suffix), "libcublasLt" + suffix}, refusal);
  loaded.push_back(library.path());
  return table;
}

// A cuDNN for another CUDA has the same name, and fails only when it computes.
Dnn load_dnn() {
  blas();  // cuDNN looks for cuBLAS by name, so that it finds the one that is loaded here
  Dnn table;
  const auto refusal = [&](const SharedLibrary& library) {
    HB_CUDNN_FUNCTIONS(HB_TAKE)
    const std::string why = wrong_major("version", major_of(table.cudnnGetProperty), CUDNN_MAJOR);
    return why.empty() ? wrong_major("for CUDA", int(table.cudnnGetCudartVersion() / 1000), CUDART_VERSION / 1000)
                       : why;
  };
  const SharedLibrary library({"cuDNN", places_of("libcudnn.so." + std::to_string(CUDNN_MAJOR)), "", true}, refusal);
  loaded.push_back(library.path());
  return table;
}

#endif
#undef HB_TAKE

}  // namespace

const Blas& blas() {
  static const Blas table = load_blas();
  return table;
}

const Dnn& dnn() {
  static const Dnn table = load_dnn();
  return table;
}

std::string library_paths() {
  std::string text;
  for (const std::string& path : loaded) text += (text.empty() ? ", from " : " and ") + path;
  return text;
}

std::string library_versions() {
  return "cuBLAS " + version(blas().cublasGetProperty) + ", cuDNN " + version(dnn().cudnnGetProperty);
}

namespace {

// The device's own error says more than that a library failed over it, so the device's error comes first.
[[noreturn]] void fail(const char* what, const char* library, const char* words, bool out_of_memory) {
  check_launch(what);
  throw environment_error(fmt::format("cuda: {}: {}: {}{}{}", what, library, words, out_of_memory ? ": " : "",
                                      out_of_memory ? kUseLess : ""));
}

}  // namespace

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(what, "cuBLAS", blas().cublasGetStatusString(status), status == CUBLAS_STATUS_ALLOC_FAILED);
}

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail(what, "cuDNN", dnn().cudnnGetErrorString(status),
       status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
}

void CloseLibrary::operator()(cublasContext* handle) const {
  const std::shared_lock hold(recording());
  blas().cublasDestroy_v2(handle);
}

void CloseLibrary::operator()(cudnnContext* handle) const {
  const std::shared_lock hold(recording());
  dnn().cudnnDestroy(handle);
}

}  // namespace hopbench::cuda
