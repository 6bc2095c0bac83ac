// NVRTC, NVIDIA's run-time compiler for CUDA source text, loaded at run time. It needs no GPU. Any thread may compile.
#pragma once
#include <string>
#include <vector>

namespace sheaf::runtime {

class Nvrtc {
 public:
  // Opens the library at the first call; it stays open for the life of the program.
  static const Nvrtc& find();
  // The reason if there is no usable compiler; else empty.
  const std::string& missing() const { return missing_; }
  const std::string& path() const { return path_; }  // of the library
  // "13.0"
  const std::string& version() const { return version_; }

  struct Result {
    std::string log;  // errors and warnings
    std::string cubin;
    bool ok = false;
  };
  // `architecture`: "sm_90". `reports`: the log lists the registers and spills of each kernel.
  Result compile(const std::string& text, const std::string& architecture, bool reports = false) const;

 private:
  Nvrtc();
  using Program = void*;
  int (*get_version_)(int* major, int* minor) = nullptr;
  int (*create_)(Program* program, const char* text, const char* name, int headers, const char* const* header_texts,
                 const char* const* header_names) = nullptr;
  int (*compile_)(Program program, int options, const char* const* option_texts) = nullptr;
  int (*log_size_)(Program program, size_t* bytes) = nullptr;
  int (*log_)(Program program, char* text) = nullptr;
  int (*cubin_size_)(Program program, size_t* bytes) = nullptr;
  int (*cubin_)(Program program, char* bytes) = nullptr;
  int (*destroy_)(Program* program) = nullptr;
  std::string missing_, path_, version_;
};

}  // namespace sheaf::runtime
