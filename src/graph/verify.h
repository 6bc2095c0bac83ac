// What every pass must leave behind. Run after the passes in debug builds and in tests (compiler::g_verify).
#pragma once
#include "graph/graph.h"

namespace sheaf::graph {

// Throws an internal error with the graph's text when an operand has no such output or comes later than its use, or
// when a node's types are not what its op makes of the inputs.
void verify(const Graph& g);

}  // namespace sheaf::graph
