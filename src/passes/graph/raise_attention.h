// Recognises attention that a program has written out, softmax(scale · q kᵀ + mask) v, and makes it one op
// (ops/attention.cpp).
#pragma once
#include <vector>

#include "graph/graph.h"

namespace sheaf::passes {

// Expects: sizes known; to run before derivatives are taken, since the reverse of what was written out stores the
// scores. Leaves: operands of the same values, rounded in another way: the only graph pass that changes bits. Scores of
// fewer than 64 x 64 elements are left as they are: they cost little, and stay the same to the bit.
graph::Graph raise_attention(const graph::Graph& g);
// The same for part of a graph that is still being built; nothing is raised where an effect would have to be made
// again, as whoever keeps the list of effects knows only the first one.
std::vector<graph::Operand> raise_attention(const std::vector<graph::Operand>& outputs);

}  // namespace sheaf::passes
