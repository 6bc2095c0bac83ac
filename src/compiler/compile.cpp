#include "compiler/compile.h"

#include <fmt/format.h>

#include <utility>

#include "compiler/code_store.h"
#include "compiler/pipeline.h"
#include "compiler/plan_builder.h"
#include "runtime/cpu_runner.h"
#include "support/phases.h"

namespace sheaf::compiler {

std::function<void(const graph::Graph&)> g_graph_listener;
std::function<void(const loop::Kernel&)> g_kernel_listener;
std::function<void(const graph::Graph&, const std::vector<graph::FusionGroup>&, const runtime::Plan&)> g_plan_listener;

namespace {

// Loads native code that is on disk. Whether there was any, there or in memory.
bool find_native_code(const runtime::Plan& plan) {
  if (code_folder().empty()) return false;
  Phase phase("load");
  bool found = false;
  each_launch(plan, [&](const runtime::Launch& l) {
    if (auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get())) found |= k->is_native(l.sizes);
  });
  return found;
}

// A failed check as an error at the user's form.
UserError check_error(const Compiled& c, const runtime::CheckFailure& f) {
  const Label& l = c.labels[static_cast<size_t>(f.label)];
  // A fused group bears the name of its last op. Which of its members failed, the interpreted run that follows tells.
  UserError e = runtime_error(l.op->check_text ? l.op->check_text({f.site, f.payload, l.inputs, l.attrs})
                                               : fmt::format("{}: a check of an operand failed", l.op->name));
  e.span = l.span;
  return e;
}

}  // namespace

runtime::Plan plan_of(const graph::Graph& g, std::vector<Label>& labels, bool& has_code, bool owned_outputs) {
  if (g_graph_listener) g_graph_listener(g);
  Phase phase("lower");
  runtime::Plan plan = PlanBuilder(run_graph_passes(g), owned_outputs, labels).run();
  plan.watcher = std::make_shared<PlanTier>();
  has_code = find_native_code(plan);
  return plan;
}

Compiled compile(const graph::Graph& g, std::shared_ptr<PlanTier> tier) {
  Compiled c;
  runtime::Plan plan = plan_of(g, c.labels, c.cached);
  if (tier) plan.watcher = std::move(tier);
  c.runner = std::make_shared<runtime::CpuRunner>(std::move(plan));
  return c;
}

std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs, std::span<const uint8_t> given_up) {
  try {
    return c.runner->run(inputs, given_up);
  } catch (const runtime::CheckFailure& f) {
    throw check_error(c, f);
  }
}

}  // namespace sheaf::compiler
