// A graph with known sizes to a plan that can be run: shares common nodes, fuses, lowers, plans memory.
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

// What a step came from, to word a failed check.
struct Label {
  const graph::OpDef* op;
  graph::Attrs attrs;
  std::vector<graph::TensorType> inputs;
  Span span;
};

// Code for a graph. Many threads may run it at once.
struct Compiled {
  std::shared_ptr<const runtime::Runner> runner;
  std::vector<Label> labels;  // by the labels of steps, those of nested plans too
  bool cached = false;  // native code of its kernels (of those that are worth it) was there already, on disk or in
                        // memory
  const runtime::Plan& plan() const { return runner->plan(); }
};

// For a device. `watcher`: told of its runs, for several graphs together (Backend::new_watcher); none: one of its own.
Compiled compile(const graph::Graph& g, const Backend& backend = cpu_backend(),
                 std::shared_ptr<runtime::RunWatcher> watcher = nullptr);

// Told every graph that is compiled, and every kernel that is compiled for the first time (--emit=loop).
extern std::function<void(const graph::Graph&)> g_graph_listener;
extern std::function<void(const loop::Kernel&)> g_kernel_listener;
// Told every plan, nested ones too, with the graph after the passes, its groups, and what it is made for (--emit,
// --perf-hints).
using PlanListener = void(const graph::Graph&, const std::vector<graph::FusionGroup>&, const runtime::Plan&,
                          const Backend&);
extern std::function<PlanListener> g_plan_listener;

// Runs it (runtime::Runner::run); a failed check becomes a UserError at the user's form.
std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {},
                        std::span<const uint8_t> wanted_here = {});

}  // namespace sheaf::compiler
