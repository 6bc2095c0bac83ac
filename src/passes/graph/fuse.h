// Chooses which nodes are computed together by one kernel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/fusion_group.h"

namespace sheaf::passes {

// What one kernel of a target may hold, and from where on fusing pays.
struct FusionLimits {
  size_t max_members, max_arrays;
  int64_t min_product_elements;  // of a factor or result that passes through a fused product
  // Ops that a later kernel computes again for a value that it would have to read. 1: a cheap one. More: of any kind,
  // as arithmetic costs little beside memory.
  size_t max_recomputed = 1;
};

// On a device (max_recomputed beyond 1) a map that a sum over rows reads is computed by that sum, which then stores
// what others read of it. Expects: sizes known.  Leaves: groups in an order in which each finds its inputs ready.
// Without `merge` every node is a group of its own.
std::vector<graph::FusionGroup> choose_groups(const graph::Graph& g, const FusionLimits& limits, bool merge = true);

}  // namespace sheaf::passes
