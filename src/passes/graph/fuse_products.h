// Fuses kernels with the products (GEMMs) whose operands they make or whose results they read, so that these pass
// through a cache instead of memory.
#pragma once
#include <vector>

#include "passes/graph/fuse.h"

namespace sheaf::passes {

// Expects: groups of choose_groups, in an order in which each finds its inputs ready.  Leaves: such an order. An
// elementwise group, or a sum of all elements, that reads a large product is now the epilogue of the last one that it
// reads; each product has one at most.
std::vector<graph::FusionGroup> fuse_epilogues(const graph::Graph& g, std::vector<graph::FusionGroup> groups,
                                               const FusionLimits& limits);

// Expects: groups in the order in which they will run.  Leaves: the same order. An elementwise group, or one that
// works by rows, such as a norm, is now the prologue of the product right after it if it makes a large first factor
// that nothing else reads.
std::vector<graph::FusionGroup> fuse_prologues(const graph::Graph& g, std::vector<graph::FusionGroup> groups,
                                               const FusionLimits& limits);

}  // namespace sheaf::passes
