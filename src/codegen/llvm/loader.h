// Loads a relocatable ELF file (aarch64 or x86-64) into executable memory and relocates it. The file may come from
// disk, so every offset and length in it is checked. Needs no LLVM.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace sheaf::codegen::native {

class LoadedCode {
 public:
  // Throws std::runtime_error unless the file is a complete object for this machine without outside symbols.
  explicit LoadedCode(std::string_view elf);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  // The address of a global function, or nullptr.
  const void* find(const std::string& name) const;

 private:
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  std::map<std::string, size_t> functions_;
};

}  // namespace sheaf::codegen::native
