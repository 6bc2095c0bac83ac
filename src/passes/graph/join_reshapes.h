// A reshape of a reshape is one reshape. Batching and contractions make chains of them, each a node to compile.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no reshape of a reshape, and none to the sizes that its input has. Values are
// unchanged to the bit.
FindRewrite join_reshapes;

}  // namespace sheaf::passes
