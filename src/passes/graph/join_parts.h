// The gradient of an array that was cut into parts: the parts concatenated, instead of zeros to which they are added
// one by one.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: sizes known, common nodes shared.  Leaves: a concatenation for each chain of slice_add on a pad whose parts
// cover the array, each element once. Values are unchanged to the bit: a part that was added to zeros still is, for the
// sake of -0.
FindRewrite join_parts;

}  // namespace sheaf::passes
