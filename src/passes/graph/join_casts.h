// A value that is widened and rounded again is itself, also where only its places changed between. What is only read
// rounded, after its places have changed, is rounded first: a product then writes half of the bytes. Mixed training
// widens what attention gives and rounds it for the next product, and splits a product into heads that it rounds; both
// ways, forward and in the gradient. What is only moved after it was widened is moved narrow, and its reader widens it.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no cast of a float to the dtype that it was widened from, and none behind reshapes,
// transposes, slices and concatenations of values that are read in no other way. Values are unchanged to the bit (of
// NaN, those that computing gives).
graph::Graph join_casts(const graph::Graph& g);

}  // namespace sheaf::passes
