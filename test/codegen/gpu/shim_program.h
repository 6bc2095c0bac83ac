// The text compiled by the C++ compiler behind cuda_shim.h, loaded and run, in a random order of threads. A batch is
// one file, as starting the compiler takes longer than most of its work.
#pragma once
#include <functional>

#include "codegen/gpu/text_program.h"

namespace sheaf::codegen::gpu::testing {

class ShimProgram final : public TextProgram {
 public:
  void compile() override { compile({}); }
  // `edit` may change the text before.
  void compile(const std::function<std::string(std::string)>& edit);
  ~ShimProgram() override;
  const std::string& text() const { return text_; }  // with what the shim needs

  std::optional<int64_t> ask_library(const runtime::LibraryProduct& p) const override { return 1000; }
  void run(size_t i, std::span<const Region> memory, std::span<const int64_t> sizes, loop::CheckRecord& check,
           uint64_t seed) override;

 private:
  std::string text_;
  void* library_ = nullptr;
};

}  // namespace sheaf::codegen::gpu::testing
