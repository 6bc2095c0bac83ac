// A graph with known sizes to an executable: shares common nodes, fuses, lowers, plans memory.
#pragma once
#include <functional>

#include "compiler/tiered.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "runtime/executable.h"
#include "support/error.h"

namespace sheaf::loop {
struct Kernel;
}
namespace sheaf::graph {
struct FusionGroup;
}

namespace sheaf::compiler {

// What a launch came from, to word a failed check.
struct Label {
  const graph::OpDef* op;
  graph::Attrs attrs;
  std::vector<graph::TensorType> inputs;
  Span span;
};

struct Compiled {
  runtime::Executable executable;
  std::vector<Label> labels;
  bool cached =
      false;  // native code of its kernels was there already, on disk or in memory (of those that are worth it)
  std::shared_ptr<ExecutableTier> tier = std::make_shared<ExecutableTier>();
};

// With `owned_outputs` every output is written to a buffer of its own, in row-major order: a nested graph whose caller
// says where its results go.
Compiled compile(const graph::Graph& g, bool owned_outputs = false);

// Told every graph that is compiled, and every kernel that is compiled for the first time (--emit=loop).
extern std::function<void(const graph::Graph&)> g_graph_listener;
extern std::function<void(const loop::Kernel&)> g_kernel_listener;
// Told every executable, with the graph behind the passes and its groups (--emit, --perf-hints).
extern std::function<void(const graph::Graph&, const std::vector<graph::FusionGroup>&, const Compiled&)>
    g_compiled_listener;

// A failed check as an error at the user's form.
UserError check_error(const Compiled& c, const runtime::CheckFailure& failure);

// Runs it; a failed check becomes a UserError at the user's form.
std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {});

}  // namespace sheaf::compiler
