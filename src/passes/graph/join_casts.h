// Removes a cast that widens a value and a later one that rounds it again, also across ops that only move elements. A
// value that is read only rounded, after such moves, is rounded before them, so that a product writes half the bytes.
// In mixed training the result of attention is widened, then rounded for the next product, and a product is split into
// heads that are rounded; the gradient does the same. A widened value that is only moved is moved in the narrow dtype,
// and its reader widens it.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no cast of a float to the dtype that it was widened from, and no such cast after
// reshapes, transposes, slices and concatenations that have no other reader. Values are unchanged to the bit (NaNs are
// those that arithmetic produces).
graph::Graph join_casts(const graph::Graph& g);

}  // namespace sheaf::passes
