// Common subexpressions: nodes with the same op, attributes and inputs become one.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no two identical live nodes, except host calls and control nodes, which are never
// merged. Values are unchanged to the bit.
graph::Graph share_common(const graph::Graph& g);

}  // namespace sheaf::passes
