// Who looks on while gradients are taken: the tool, for SHEAF_DEBUG_GRAD.
#pragma once
#include <functional>

#include "graph/graph.h"
#include "value/value.h"

namespace sheaf::builtins {

// If set, called with each function whose gradient is taken, on a tape or in a trace, and a graph of its forward and
// reverse pass: the inputs are what it is differentiated by, then data; the outputs its result, then the gradients.
// From every thread that runs user code; to be set before anything runs.
extern std::function<void(const Value& function, const graph::Graph& passes)> g_gradient_listener;

// That graph, for reading: data of more than a few elements are inputs too. An empty gradient is one of zeros.
graph::Graph passes_of(const graph::Operand& y, const std::vector<graph::Operand>& wrt,
                       const std::vector<graph::Operand>& gradients);

}  // namespace sheaf::builtins
