// Rounds a value where it is computed if others read it both wide and rounded: one kernel then writes both, and no
// kernel reads the wide value only to round it. Mixed training sums gradients for a bias and rounds them for a product.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: casts of elementwise values to narrower floats directly after the values, before
// their other readers, and before reshapes. Values are unchanged to the bit.
graph::Graph round_early(const graph::Graph& g);

}  // namespace sheaf::passes
