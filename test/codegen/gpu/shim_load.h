// Loads a compiled object as a library into this process.
#pragma once
#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace sheaf::codegen::gpu::testing {

// nullptr: `error` says why.
inline void* load_shim(const char* bytes, size_t size, std::string& error) {
  std::string path = (std::filesystem::temp_directory_path() / "sheaf-gpu-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file >= 0) close(file);
  std::ofstream(path, std::ios::binary).write(bytes, static_cast<std::streamsize>(size));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) error = dlerror();
  std::filesystem::remove(path);
  return library;
}

}  // namespace sheaf::codegen::gpu::testing
