#include "compiler/compile.h"

#include <utility>

#include "compiler/pipeline.h"
#include "compiler/plan_builder.h"
#include "graph/verify.h"
#include "passes/graph/fuse.h"
#include "passes/graph/fuse_products.h"
#include "passes/graph/recompute.h"
#include "support/phases.h"

namespace sheaf::compiler {

std::function<void(const graph::Graph&)> g_graph_listener;
std::function<void(const loop::Kernel&)> g_kernel_listener;
std::function<void(const graph::Graph&, const std::vector<graph::FusionGroup>&, const Compiled&)> g_compiled_listener;

namespace {

FusedGraph fused(graph::Graph g) {
  auto groups = [](const graph::Graph& g) {
    Phase phase("fuse");
    return passes::choose_groups(g, is_enabled(Pass::Fuse));
  };
  FusedGraph out{std::move(g), {}};
  out.groups = groups(out.graph);
  if (is_enabled(Pass::Recompute)) {
    Phase phase("recompute");
    auto again = passes::recompute(out.graph, out.groups);
    if (again && g_verify) graph::verify(*again);
    // A copy that finds no room in a group would be one more kernel.
    if (again)
      if (auto chosen = groups(*again); chosen.size() <= out.groups.size())
        out = {std::move(*again), std::move(chosen)};
  }
  if (is_enabled(Pass::Follow)) {
    Phase phase("follow");
    out.groups = passes::fuse_epilogues(out.graph, std::move(out.groups));
  }
  // After the epilogues, which may come to stand between a product and what makes its factor.
  if (is_enabled(Pass::Precede)) {
    Phase phase("precede");
    out.groups = passes::fuse_prologues(out.graph, std::move(out.groups));
  }
  if (g_verify) graph::verify(out.graph, out.groups);
  return out;
}

}  // namespace

Compiled compile(const graph::Graph& g, bool owned_outputs) {
  if (g_graph_listener) g_graph_listener(g);
  Phase phase("lower");
  return PlanBuilder(fused(simplified(g)), owned_outputs).run();
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
