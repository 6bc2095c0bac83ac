// Fuses products (GEMMs) with the kernels that compute their operands or read their results, so that these arrays pass
// through a cache instead of memory.
#pragma once
#include <vector>

#include "passes/graph/fuse.h"

namespace sheaf::passes {

// Expects: groups of choose_groups, in an order in which each finds its inputs ready.  Leaves: such an order. An
// elementwise group, or a sum of all elements, that reads large products becomes the epilogue of the last of them; each
// product has at most one.
std::vector<graph::FusionGroup> fuse_epilogues(const graph::Graph& g, std::vector<graph::FusionGroup> groups,
                                               const FusionLimits& limits);

// Expects: groups in execution order.  Leaves: the same order. An elementwise group, or one that works by rows, such as
// a norm, becomes the prologue of the product right after it if it computes a large left operand that nothing else
// reads.
std::vector<graph::FusionGroup> fuse_prologues(const graph::Graph& g, std::vector<graph::FusionGroup> groups,
                                               const FusionLimits& limits);

}  // namespace sheaf::passes
