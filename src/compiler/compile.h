// Compiles a graph with known sizes to a plan: shares common nodes, fuses, lowers, plans memory.
#pragma once
#include <functional>

#include "compiler/backend.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "runtime/runner.h"
#include "support/error.h"

namespace sheaf::loop {
struct Kernel;
}
namespace sheaf::graph {
struct FusionGroup;
}

namespace sheaf::compiler {

// The origin of a step, for the message of a failed check.
struct Label {
  const graph::OpDef* op;
  graph::Attrs attrs;
  std::vector<graph::TensorType> inputs;
  Span span;
};

// Code for a graph. Several threads may run it at once.
struct Compiled {
  std::shared_ptr<const runtime::Runner> runner;
  std::vector<Label> labels;  // by the labels of steps, those of nested plans too
  bool cached = false;  // native code of its kernels (of those that are worth it) was there already, on disk or in
                        // memory
  const runtime::Plan& plan() const { return runner->plan(); }
};

// For a device. `watcher` observes its runs, several graphs together (Backend::new_watcher); none: it gets its own.
Compiled compile(const graph::Graph& g, const Backend& backend = cpu_backend(),
                 std::shared_ptr<runtime::RunWatcher> watcher = nullptr);

// Called with every graph that is compiled, and every kernel when it is first compiled (--emit=loop).
extern std::function<void(const graph::Graph&)> g_graph_listener;
extern std::function<void(const loop::Kernel&)> g_kernel_listener;
// Called with every plan, nested ones too, with the graph after the passes, its groups, and the function it is compiled
// for (--emit, --perf-hints).
using PlanListener = void(const graph::Graph&, const std::vector<graph::FusionGroup>&, const runtime::Plan&,
                          const Backend&);
extern std::function<PlanListener> g_plan_listener;

// Runs it (runtime::Runner::run); a failed check becomes a UserError at the user's form.
std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {},
                        std::span<const uint8_t> wanted_here = {});

}  // namespace sheaf::compiler
