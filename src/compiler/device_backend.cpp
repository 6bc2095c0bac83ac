// The back end of a simulated device: kernels run in the block executor, every launch is a step of its own. It omits
// what a processor adds to that (native code, products with fused parts, packed operands), because a device with its
// own code will not have it either.
#include "codegen/block/block.h"
#include "compiler/backend.h"
#include "compiler/check.h"
#include "compiler/gpu_backend.h"
#include "compiler/pipeline.h"
#include "runtime/device_runner.h"
#include "support/error.h"

namespace sheaf::compiler {
namespace {

class BlockCode final : public runtime::CpuKernel, public DeviceCheckable {
 public:
  BlockCode(loop::Kernel kernel, const runtime::Target& target)
      : kernel_(std::move(kernel)), block_(codegen::BlockKernel::compile(kernel_, target)) {}
  const loop::Kernel& kernel() const override { return kernel_; }
  int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const override {
    loop::CheckRecord check;
    block_->run(buffers, sizes, check);
    payload = check.payload;
    return check.site;
  }

 private:
  loop::Kernel kernel_;
  std::shared_ptr<const codegen::BlockKernel> block_;
};

class SimBackend final : public Backend {
 public:
  explicit SimBackend(runtime::Device& device) : device_(device) {}
  const runtime::Target& target() const override { return device_.target(); }
  loop::Kernel prepared(loop::Kernel kernel) const override { return run_kernel_passes(std::move(kernel)); }
  std::shared_ptr<const runtime::Code> code(loop::Kernel kernel, KernelUse, std::string) const override {
    return std::make_shared<BlockCode>(std::move(kernel), target());
  }
  std::shared_ptr<const runtime::Code> product(const ProductSpec&) const override { return nullptr; }
  bool materializes_factors() const override { return true; }
  void refine_product(const routines::GemmArgs<>&, runtime::Launch&) const override {}
  int64_t workspace_bytes(const runtime::Launch&) const override { return 0; }
  std::shared_ptr<runtime::RunWatcher> new_watcher() const override { return nullptr; }
  bool find_code(const runtime::Plan&) const override { return false; }
  std::shared_ptr<const runtime::Runner> finish(runtime::Plan plan) const override {
    return std::make_shared<runtime::DeviceRunner>(std::move(plan), device_);
  }
  std::string algorithm_text(const runtime::Launch&) const override { return ""; }

 private:
  runtime::Device& device_;
};

}  // namespace

const Backend& backend_of(runtime::TargetId target) {
  if (target == runtime::TargetId::Cpu) return cpu_backend();
  INVARIANT(runtime::g_device && runtime::g_device->target().id == target, "no device for its target");
  if (target == runtime::TargetId::Cuda) return gpu_backend(static_cast<runtime::CudaDevice&>(*runtime::g_device));
  static const SimBackend backend(*runtime::g_device);
  return backend;
}

}  // namespace sheaf::compiler
