// The invariants of a graph, checked after each pass in debug builds and in tests (compiler::g_verify).
#pragma once
#include "graph/graph.h"

namespace sheaf::graph {

// Throws an internal error with the graph's text when an operand names an output that does not exist or is defined
// after its use, or when a node's types differ from those that its op infers from the inputs.
void verify(const Graph& g);

}  // namespace sheaf::graph
