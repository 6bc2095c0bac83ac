#include "runtime/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <iterator>

#include "runtime/libraries.h"

namespace sheaf::runtime {

const Nvrtc& Nvrtc::find() {
  static const Nvrtc nvrtc;
  return nvrtc;
}

Nvrtc::Nvrtc() {
  constexpr std::string_view kFiles[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  const Library library = open_cuda_library(kFiles);
  if (!library.handle) {
    missing_ =
        "no libnvrtc.so (NVIDIA's compiler for kernels) was found: pip install nvidia-cuda-nvrtc, or let "
        "SHEAF_CUDA_PATH "
        "name its folder";
    return;
  }
  path_ = library.path;
  auto set = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library.handle, name));
    if (!function && missing_.empty())
      missing_ = fmt::format("{} has no function {}: it is too old", library.path, name);
  };
  set(get_version_, "nvrtcVersion");
  set(create_, "nvrtcCreateProgram");
  set(compile_, "nvrtcCompileProgram");
  set(log_size_, "nvrtcGetProgramLogSize");
  set(log_, "nvrtcGetProgramLog");
  set(cubin_size_, "nvrtcGetCUBINSize");
  set(cubin_, "nvrtcGetCUBIN");
  set(destroy_, "nvrtcDestroyProgram");
  int major = 0, minor = 0;
  if (missing_.empty() && get_version_(&major, &minor) == 0) version_ = fmt::format("{}.{}", major, minor);
}

Nvrtc::Result Nvrtc::compile(const std::string& text, const std::string& architecture, bool reports) const {
  Program p = nullptr;
  if (create_(&p, text.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0) return {"no program", {}, false};
  const std::string arch = "--gpu-architecture=" + architecture;
  // Suppresses warning 186, comparisons that are never true, such as x < 0 of an unsigned type.
  const char* options[] = {arch.c_str(), "--fmad=false", "--std=c++17", "--diag-suppress=186", "--ptxas-options=-v"};
  const int status = compile_(p, static_cast<int>(std::size(options)) - (reports ? 0 : 1), options);
  Result out;
  size_t n = 0;
  log_size_(p, &n);
  out.log.resize(n);
  log_(p, out.log.data());
  out.log.resize(n > 0 ? n - 1 : 0);
  out.ok = status == 0;
  if (!out.ok) out.log += fmt::format("\nstatus {}", status);
  if (out.ok && cubin_size_(p, &n) == 0) {
    out.cubin.resize(n);
    cubin_(p, out.cubin.data());
  }
  destroy_(&p);
  return out;
}

}  // namespace sheaf::runtime
