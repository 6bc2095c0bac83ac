#include "runtime/libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace sheaf::runtime {
namespace {

namespace fs = std::filesystem;

// The entries of a folder in alphabetical order; empty if there is no such folder.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

void add_variable(const char* name, const char* below, std::vector<fs::path>& folders) {
  if (const char* value = std::getenv(name); value && *value) folders.push_back(fs::path(value) / below);
}

// PREFIX/lib/python3.N/site-packages/nvidia/PACKAGE/lib, where PREFIX/bin is the folder of a python3 on PATH.
void add_python_packages(std::vector<fs::path>& folders) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const fs::path bin(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(bin.native().size() + 1, rest.size()));
    std::error_code error;
    if (!fs::exists(bin / "python3", error)) continue;
    for (const fs::path& python : entries_of(bin.parent_path() / "lib")) {
      if (!python.filename().native().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const fs::path& package : entries_of(python / packages / "nvidia"))
          folders.push_back(package / "lib");
    }
  }
}

// An empty folder stands for the loader's own search.
std::vector<fs::path> folders_to_search() {
  std::vector<fs::path> out;
  add_variable("SHEAF_CUDA_PATH", "", out);
  out.emplace_back();
  add_variable("CUDA_HOME", "lib64", out);
  for (const fs::path& cuda : entries_of("/usr/local"))
    if (cuda.filename().native().starts_with("cuda")) out.push_back(cuda / "lib64");
  add_python_packages(out);
  std::error_code error;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error) out.push_back(program.parent_path());
  return out;
}

}  // namespace

Library open_cuda_library(std::span<const std::string_view> file_names) {
  static const std::vector<fs::path> folders = folders_to_search();
  for (const fs::path& folder : folders)
    for (std::string_view name : file_names) {
      const std::string path = folder.empty() ? std::string(name) : (folder / name).string();
      if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, path};
    }
  return {};
}

}  // namespace sheaf::runtime
