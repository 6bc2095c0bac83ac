// A listener for gradients: used by the tool for SHEAF_DEBUG_GRAD.
#pragma once
#include <functional>

#include "graph/graph.h"
#include "value/value.h"

namespace sheaf::builtins {

// If set, called for each function whose gradient is taken, on a tape or in a trace, with a graph of its forward and
// backward pass. The graph's inputs are the differentiation variables, then data; its outputs the result, then the
// gradients. Called from every thread that runs user code; set it before anything runs.
extern std::function<void(const Value& function, const graph::Graph& passes)> g_gradient_listener;

// That graph, for reading: data of more than a few elements also become inputs. An empty gradient counts as zeros.
graph::Graph passes_of(const graph::Operand& y, const std::vector<graph::Operand>& wrt,
                       const std::vector<graph::Operand>& gradients);

}  // namespace sheaf::builtins
