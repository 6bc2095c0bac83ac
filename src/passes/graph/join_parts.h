// Rewrites the gradient of an array that was split into parts: concatenates the parts instead of adding them one by one
// to zeros.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: sizes known, common nodes shared.  Leaves: a concatenation in place of each chain of slice_add on a pad
// whose parts cover the array, each element once. Values are unchanged to the bit: a part that was added to zeros still
// is, because -0 + 0 is 0.
FindRewrite join_parts;

}  // namespace sheaf::passes
