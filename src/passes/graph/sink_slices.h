// Elementwise values of which only parts are read are computed part by part, by the kernels that read them.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: sizes known, common nodes shared.  Leaves: slices of what an elementwise node reads in place of slices of
// its result, where all that is read of it are slices for elementwise nodes and reductions, no more elements together
// than it had. Values are unchanged to the bit.
FindRewrite sink_slices;

}  // namespace sheaf::passes
