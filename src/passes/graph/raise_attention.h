// Recognises attention written as separate ops, softmax(scale · q kᵀ + mask) v, and replaces it by one op
// (ops/attention.cpp).
#pragma once
#include <vector>

#include "graph/graph.h"

namespace sheaf::passes {

// Expects: sizes known; must run before gradients are taken, because the VJP of the separate ops stores the scores.
// Leaves: operands with the same values, rounded differently: the only graph pass that changes bits. Scores of fewer
// than 64 x 64 elements are left alone: they cost little, and keep their bits.
graph::Graph raise_attention(const graph::Graph& g);
// The same for part of a graph that is still being built. Does nothing where it would have to copy a node with an
// effect, because the owner of the list of effects knows only the original.
std::vector<graph::Operand> raise_attention(const std::vector<graph::Operand>& outputs);

}  // namespace sheaf::passes
