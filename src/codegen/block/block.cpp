#include "codegen/block/block.h"

#include "codegen/block/program.h"

namespace sheaf::codegen {
namespace {

class Compiled final : public BlockKernel {
 public:
  explicit Compiled(const loop::Kernel& kernel) : program_(block::compile(kernel)) {}
  void run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, loop::CheckRecord& check) const override {
    block::execute(*program_, buffers, sizes, check);
  }

 private:
  std::unique_ptr<const block::Program> program_;
};

}  // namespace

std::shared_ptr<const BlockKernel> BlockKernel::compile(loop::Kernel kernel) {
  loop::verify(kernel);
  return std::make_shared<Compiled>(kernel);
}

}  // namespace sheaf::codegen
