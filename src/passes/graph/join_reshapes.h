// Merges a reshape of a reshape into one. Batching and contractions create chains of them, and each is a node to
// compile.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no reshape of a reshape, and none to its input's own sizes. Values are unchanged to
// the bit.
FindRewrite join_reshapes;

}  // namespace sheaf::passes
