// A value that is widened and rounded again is itself. Mixed training widens what attention gives and rounds it for the
// next product; both ways, forward and in the gradient.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no cast of a float to the dtype that it was widened from. Values are unchanged to
// the bit (of NaN, those that computing gives).
FindRewrite join_casts;

}  // namespace sheaf::passes
