#include "runtime/cublas_lt.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/libraries.h"

namespace sheaf::runtime {

const CublasLt& CublasLt::find() {
  static const CublasLt library;
  return library;
}

CublasLt::CublasLt() {
  constexpr std::string_view kFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  const Library library = open_cuda_library(kFiles);
  if (!library.handle) {
    missing =
        "no libcublasLt.so (NVIDIA's library for products) was found: pip install nvidia-cublas, or let "
        "SHEAF_CUDA_PATH name its folder";
    return;
  }
  path = library.path;
  auto set = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library.handle, name));
    if (!function && missing.empty()) missing = fmt::format("{} has no function {}: it is too old", library.path, name);
  };
  set(get_version, "cublasLtGetVersion");
  set(status_name, "cublasLtGetStatusName");
  set(create, "cublasLtCreate");
  set(create_layout, "cublasLtMatrixLayoutCreate");
  set(destroy_layout, "cublasLtMatrixLayoutDestroy");
  set(set_layout, "cublasLtMatrixLayoutSetAttribute");
  set(create_operation, "cublasLtMatmulDescCreate");
  set(destroy_operation, "cublasLtMatmulDescDestroy");
  set(set_operation, "cublasLtMatmulDescSetAttribute");
  set(create_preference, "cublasLtMatmulPreferenceCreate");
  set(destroy_preference, "cublasLtMatmulPreferenceDestroy");
  set(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  set(choose, "cublasLtMatmulAlgoGetHeuristic");
  set(multiply, "cublasLtMatmul");
  if (!missing.empty()) return;
  const size_t number = get_version();  // 130002
  version = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::string CublasLt::name_of(int status) const {
  const char* name = status_name ? status_name(status) : nullptr;
  return name ? name : fmt::format("status {}", status);
}

}  // namespace sheaf::runtime
