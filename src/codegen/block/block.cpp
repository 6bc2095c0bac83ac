#include "codegen/block/block.h"

#include "loop/reference.h"

namespace sheaf::codegen {
namespace {

class Interpreted final : public BlockKernel {
 public:
  explicit Interpreted(loop::Kernel kernel) : kernel_(std::move(kernel)) {}
  void run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, loop::CheckRecord& check) const override {
    loop::run_reference(kernel_, buffers, sizes, check);
  }

 private:
  loop::Kernel kernel_;
};

}  // namespace

std::shared_ptr<const BlockKernel> BlockKernel::compile(loop::Kernel kernel) {
  loop::verify(kernel);
  return std::make_shared<Interpreted>(std::move(kernel));
}

}  // namespace sheaf::codegen
