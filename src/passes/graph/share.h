// Common subexpressions: nodes with the same op, attributes and inputs become one.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no two live nodes alike. Values are unchanged to the bit.
graph::Graph share_common(const graph::Graph& g);

}  // namespace sheaf::passes
