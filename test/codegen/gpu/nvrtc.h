// NVIDIA's compiler for text, where one is found: by the loader, in SHEAF_CUDA_PATH, or in /usr/local/cuda*. It needs
// no GPU. Any thread may compile.
#pragma once
#include <string>
#include <vector>

namespace sheaf::codegen::gpu::testing {

struct Nvrtc {
  static const Nvrtc& find();

  struct Result {
    std::string log;  // errors and warnings
    std::vector<char> cubin;
    bool ok = false;
  };
  Result compile(const std::string& text, const std::string& architecture) const;

  void* library = nullptr;  // nullptr: none was found

 private:
  Nvrtc();
  using Program = void*;
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*log_size_)(Program, size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
};

}  // namespace sheaf::codegen::gpu::testing
