// A value that is read as it is and rounded, too, is rounded where it is computed: one kernel then writes both, and
// nobody reads the wide one only to round it. Mixed training sums gradients for a bias and rounds them for a product.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: casts of elementwise values to narrower floats right behind the values, before what
// else reads them, and before reshapes. Values are unchanged to the bit.
graph::Graph round_early(const graph::Graph& g);

}  // namespace sheaf::passes
