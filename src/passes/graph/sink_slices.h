// Moves slices above elementwise ops: if only slices of an elementwise value are read, each reader computes its own
// slice.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: sizes known, common nodes shared.  Leaves: slices of an elementwise node's operands in place of slices of
// its result, if elementwise nodes and reductions read nothing but slices of it, with no more elements in total than it
// had. Values are unchanged to the bit.
FindRewrite sink_slices;

}  // namespace sheaf::passes
