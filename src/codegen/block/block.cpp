#include "codegen/block/block.h"

#include "codegen/block/program.h"
#include "kernels/kernels.h"

namespace sheaf::codegen {
namespace {

class Compiled final : public BlockKernel {
 public:
  Compiled(const loop::Kernel& kernel, const runtime::Target& target)
      : program_(block::compile(kernel, kernels::arithmetic_of(target))), work_(kernel, block::kRates) {}
  void run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
           loop::CheckRecord& check) const override {
    block::execute(*program_, buffers, sizes, check);
  }
  double estimated_ns(std::span<const int64_t> sizes) const override { return work_.ns(sizes); }

 private:
  std::unique_ptr<const block::BlockProgram> program_;
  loop::KernelWork work_;
};

}  // namespace

std::shared_ptr<const BlockKernel> BlockKernel::compile(loop::Kernel kernel, const runtime::Target& target) {
  loop::verify(kernel);
  return std::make_shared<Compiled>(kernel, target);
}

}  // namespace sheaf::codegen
