#include "compiler/compile.h"

#include <fmt/format.h>

#include <utility>

#include "compiler/pipeline.h"
#include "compiler/plan_builder.h"
#include "support/phases.h"

namespace sheaf::compiler {

std::function<void(const graph::Graph&)> g_graph_listener;
std::function<void(const loop::Kernel&)> g_kernel_listener;
std::function<PlanListener> g_plan_listener;

namespace {

// The error of a failed check, at the user's form.
UserError check_error(const Compiled& c, const runtime::CheckFailure& f) {
  const Label& l = c.labels[static_cast<size_t>(f.label)];
  // A fused group has the name of its last op. The interpreted run that follows tells which member failed.
  UserError e = runtime_error(l.op->check_text ? l.op->check_text({f.site, f.payload, l.inputs, l.attrs})
                                               : fmt::format("{}: a check of an operand failed", l.op->name));
  e.span = l.span;
  return e;
}

}  // namespace

runtime::Plan plan_of(const graph::Graph& g, const Backend& backend, std::vector<Label>& labels, bool& has_code,
                      bool owned_outputs) {
  if (g_graph_listener) g_graph_listener(g);
  Phase phase("lower");
  runtime::Plan plan = PlanBuilder(run_graph_passes(g, backend.target()), backend, owned_outputs, labels).run();
  plan.watcher = backend.new_watcher();
  has_code = backend.find_code(plan);
  return plan;
}

Compiled compile(const graph::Graph& g, const Backend& backend, std::shared_ptr<runtime::RunWatcher> watcher) {
  Compiled c;
  runtime::Plan plan = plan_of(g, backend, c.labels, c.cached);
  if (watcher) plan.watcher = std::move(watcher);
  c.runner = backend.finish(std::move(plan));
  return c;
}

std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs, std::span<const uint8_t> given_up,
                        std::span<const uint8_t> wanted_here) {
  try {
    return c.runner->run(inputs, given_up, wanted_here);
  } catch (const runtime::CheckFailure& f) {
    throw check_error(c, f);
  }
}

}  // namespace sheaf::compiler
