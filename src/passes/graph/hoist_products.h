// A recurrence multiplies each row of its input by the same matrix. Inside the loop this is a product of few rows per
// iteration, limited by reading the matrix; hoisted out of the loop it is one GEMM of many rows.
#pragma once
#include "graph/graph.h"

namespace sheaf::passes {

// Expects: a graph of known sizes.
// Leaves: products hoisted out of scans, if they multiply a row of a scanned input (itself a matrix of several rows) by
// a loop invariant; the scan takes their rows as a further input. A loop-invariant matrix that a product of few rows
// reads transposed in many iterations is materialized in row-major order before the scan. The same bits: the order of a
// product's sums (several rows and columns) depends on k alone.
graph::Graph hoist_products(const graph::Graph& g);

}  // namespace sheaf::passes
