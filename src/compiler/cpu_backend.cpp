// Features of this processor alone: tiered kernels, products that call their prologue and epilogue, operands that are
// packed once.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "compiler/backend.h"
#include "compiler/code_store.h"
#include "compiler/pipeline.h"
#include "compiler/tiered.h"
#include "kernels/gemm/gemm.h"
#include "kernels/kernels.h"
#include "runtime/cpu_runner.h"
#include "support/phases.h"

namespace sheaf::compiler {
namespace {

class CpuBackend final : public Backend {
 public:
  const runtime::Target& target() const override { return runtime::host_target(); }

  loop::Kernel prepared(loop::Kernel kernel) const override { return run_kernel_passes(std::move(kernel)); }

  std::shared_ptr<const runtime::Code> code(loop::Kernel kernel, KernelUse use, std::string text) const override {
    return std::make_shared<TieredKernel>(std::move(kernel), use, std::move(text));
  }

  // A sum of blocks needs whole rows: tiles narrower than a row would hold back many blocks.
  std::shared_ptr<const runtime::Code> product(const ProductSpec& spec) const override {
    auto form = kernels::fused_product(spec.args, target());
    if (form && spec.epilogue_unit > 0 && !form->completes_rows()) return nullptr;
    return form;
  }

  bool multiplies_views() const override { return true; }

  // A runner that executes launches one by one inspects what each has written.
  bool materializes_factors() const override { return runtime::g_run_steps != nullptr; }

  void refine_product(const routines::GemmArgs<>& args, runtime::Launch& launch) const override {
    if (is_enabled("repack")) launch.packed = kernels::repacked_form(args, target());
  }

  // Threads keep the scratch memory of routines between launches.
  int64_t workspace_bytes(const runtime::Launch&) const override { return 0; }

  std::shared_ptr<runtime::RunWatcher> new_watcher() const override { return std::make_shared<PlanTier>(); }

  bool find_code(const runtime::Plan& plan) const override {
    if (code_folder().empty()) return false;
    Phase phase("load");
    bool found = false;
    each_launch(plan, [&](const runtime::Launch& l) {
      if (auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get())) found |= k->is_native(l.sizes);
    });
    return found;
  }

  std::shared_ptr<const runtime::Runner> finish(runtime::Plan plan) const override {
    return std::make_shared<runtime::CpuRunner>(std::move(plan));
  }

  // The GEMM algorithm that a launch takes by default.
  std::string algorithm_text(const runtime::Launch& l) const override {
    auto* tiered = dynamic_cast<const TieredKernel*>(l.kernel.get());
    if (!tiered) return "";
    const loop::Kernel& k = tiered->kernel();
    // The body of its kernel is only values and a call of the routine.
    if (k.body.empty()) return "";
    const loop::Stmt& call = k.body.back();
    if (call.kind != loop::Stmt::Call || call.routine != routines::GemmArgs<>::kRoutine) return "";
    std::vector<int64_t> args;
    for (loop::ValueId v : call.arguments) {
      const loop::Inst& inst = k.values[v];
      if (inst.op != loop::Op::Const && inst.op != loop::Op::Size) return "";
      args.push_back(inst.op == loop::Op::Const ? inst.imm : l.sizes[inst.imm]);
    }
    const kernels::GemmPlan plan =
        kernels::gemm_plan(routines::unpack<routines::GemmArgs<>>(args), kernels::arithmetic_of(target()));
    return plan.algorithm.empty() ? "" : fmt::format("by {}: {}", plan.algorithm, plan.why);
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace sheaf::compiler
