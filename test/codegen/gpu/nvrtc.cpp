#include "codegen/gpu/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace sheaf::codegen::gpu::testing {

const Nvrtc& Nvrtc::find() {
  static const Nvrtc found;
  return found;
}

Nvrtc::Nvrtc() {
  std::vector<std::string> names;
  for (const char* file : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    if (const char* folder = std::getenv("SHEAF_CUDA_PATH")) names.push_back(std::string(folder) + "/" + file);
    names.emplace_back(file);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/local", error))
      if (entry.path().filename().string().starts_with("cuda"))
        for (const char* folder : {"lib64", "lib"})
          names.push_back((entry.path() / folder / file).string());
  }
  for (const std::string& name : names)
    if (!library) library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  auto set = [&]<class F>(F& function, const char* name) { function = reinterpret_cast<F>(dlsym(library, name)); };
  set(create_, "nvrtcCreateProgram");
  set(compile_, "nvrtcCompileProgram");
  set(log_size_, "nvrtcGetProgramLogSize");
  set(log_, "nvrtcGetProgramLog");
  set(cubin_size_, "nvrtcGetCUBINSize");
  set(cubin_, "nvrtcGetCUBIN");
  set(destroy_, "nvrtcDestroyProgram");
}

Nvrtc::Result Nvrtc::compile(const std::string& text, const std::string& architecture) const {
  Program p = nullptr;
  if (create_(&p, text.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0) return {"no program", {}, false};
  const std::string arch = "--gpu-architecture=" + architecture;
  const char* options[] = {arch.c_str(), "--fmad=false", "--std=c++17"};
  const int status = compile_(p, 3, options);
  Result out;
  size_t n = 0;
  log_size_(p, &n);
  out.log.resize(n);
  log_(p, out.log.data());
  out.log.resize(n > 0 ? n - 1 : 0);
  out.ok = status == 0;
  if (!out.ok) out.log += "\nstatus " + std::to_string(status);
  if (out.ok && cubin_size_(p, &n) == 0) {
    out.cubin.resize(n);
    cubin_(p, out.cubin.data());
  }
  destroy_(&p);
  return out;
}

}  // namespace sheaf::codegen::gpu::testing
