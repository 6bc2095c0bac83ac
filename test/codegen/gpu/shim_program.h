// Compiles the text by the C++ compiler with cuda_shim.h, loads and runs it, in a random order of threads. A batch is
// one file, because starting the compiler takes longer than compiling most kernels.
#pragma once
#include <functional>

#include "codegen/gpu/text_program.h"

namespace sheaf::codegen::gpu::testing {

class ShimProgram final : public TextProgram {
 public:
  void compile() override { compile({}); }
  // `edit` may change the text before it is compiled.
  void compile(const std::function<std::string(std::string)>& edit);
  ~ShimProgram() override;
  const std::string& text() const { return text_; }  // with the parts that the shim needs

  std::optional<int64_t> ask_library(const runtime::LibraryProduct& p) const override { return 1000; }
  void run(size_t i, std::span<const Region> memory, std::span<const int64_t> sizes, loop::CheckRecord& check,
           uint64_t seed) override;

 private:
  std::string text_;
  void* library_ = nullptr;
};

}  // namespace sheaf::codegen::gpu::testing
