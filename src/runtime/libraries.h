// Finds shared libraries at run time, so that they are needed neither to build nor to start the program.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sheaf::runtime {

// Opens a CUDA library under the first of these file names that exists. Searches SHEAF_CUDA_PATH, the loader's path,
// $CUDA_HOME and /usr/local/cuda*, the packages of the python3 on PATH (folders `nvidia`), and the program's folder.
struct Library {
  void* handle = nullptr;  // none was found
  std::string path;        // as it was opened
};
Library open_cuda_library(std::span<const std::string_view> file_names);

}  // namespace sheaf::runtime
