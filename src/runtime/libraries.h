// Libraries that are looked for while the program runs, so that nothing of them is needed to build or start it.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sheaf::runtime {

// A library of CUDA under the first of these file names that is found. Looked for in SHEAF_CUDA_PATH, by the loader, in
// $CUDA_HOME and /usr/local/cuda*, among the packages of the python3 on PATH (folders `nvidia`), and beside the
// program.
struct Library {
  void* handle = nullptr;  // none was found
  std::string path;        // as it was opened
};
Library open_cuda_library(std::span<const std::string_view> file_names);

}  // namespace sheaf::runtime
