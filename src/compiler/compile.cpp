#include "compiler/compile.h"

#include <utility>

#include "compiler/pipeline.h"
#include "compiler/plan_builder.h"
#include "support/phases.h"

namespace sheaf::compiler {

std::function<void(const graph::Graph&)> g_graph_listener;
std::function<void(const loop::Kernel&)> g_kernel_listener;
std::function<void(const graph::Graph&, const std::vector<graph::FusionGroup>&, const Compiled&)> g_compiled_listener;

Compiled compile(const graph::Graph& g, bool owned_outputs) {
  if (g_graph_listener) g_graph_listener(g);
  Phase phase("lower");
  return PlanBuilder(run_graph_passes(g), owned_outputs).run();
}

UserError check_error(const Compiled& c, const runtime::CheckFailure& f) {
  const Label& l = c.labels[f.label];
  INVARIANT(l.op->check_text, l.op->name << " has a check without a text");
  UserError e = runtime_error(l.op->check_text({f.site, f.payload, l.inputs, l.attrs}));
  e.span = l.span;
  return e;
}

std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs, std::span<const uint8_t> given_up) {
  try {
    std::vector<Tensor> out;
    c.tier->watch(c.executable, [&] { out = c.executable.run(inputs, given_up); });
    return out;
  } catch (const runtime::CheckFailure& f) {
    throw check_error(c, f);
  }
}

}  // namespace sheaf::compiler
