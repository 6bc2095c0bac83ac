// Compiles the text of kernels by the C++ compiler with cuda_shim.h. Has no other dependencies: the library that stands
// in for NVRTC uses it too.
#pragma once
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sheaf::codegen::gpu::testing {

struct ShimObject {
  std::string bytes;   // of a shared library; empty if the compiler rejects the text
  std::string errors;  // the compiler's messages then
};

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// `keeps`: keeps the folder with the text, and prints its name.
inline ShimObject compile_shim(const std::string& text, bool keeps) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "sheaf-gpu-XXXXXX").string();
  if (!mkdtemp(folder.data())) return {"", "no temporary folder"};
  const fs::path source = fs::path(folder) / "kernels.cpp", object = fs::path(folder) / "kernels.so",
                 log = fs::path(folder) / "log";
  std::ofstream(source) << "#include \"codegen/gpu/cuda_shim.h\"\n" << text;
  const std::string command = std::string(SHEAF_CXX) +
                              " -std=c++17 -O0 -w -ffp-contract=off -fno-gnu-unique -shared -fPIC -I" + SHIM_INCLUDE +
                              " -o " + object.string() + " " + source.string() + " > " + log.string() + " 2>&1";
  // NOLINTNEXTLINE(bugprone-command-processor): the text and the paths are ours
  const bool ok = std::system(command.c_str()) == 0;
  ShimObject out{ok ? content_of(object) : "", ok ? "" : command + "\n" + content_of(log)};
  if (keeps)
    std::fprintf(stderr, "text is kept in %s\n", folder.c_str());
  else
    fs::remove_all(folder);
  return out;
}

}  // namespace sheaf::codegen::gpu::testing
