// A recurrence multiplies each row of its input by the same matrix, in a product of few rows for each turn, which waits
// for the matrix: once for all rows it is a product of many.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a graph of known sizes.
// Leaves: products in the bodies of scans that multiply the row of an input of the scan, of several rows itself, by
// something that is the same in all turns, moved in front of the scan, which takes their rows as a further input.
// Matrices of few rows' products that are read transposed in many turns are written out in front of it. The same bits:
// how a product of several rows and columns sums depends on k alone.
graph::Graph hoist_products(const graph::Graph& g);

}  // namespace sheaf::passes
