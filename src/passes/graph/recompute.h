// Recomputes values in the kernels that would otherwise load them from memory, where that costs less.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "passes/graph/fuse.h"

namespace sheaf::passes {

// Expects: sizes known, and the groups chosen for the graph.  Leaves: copies of nodes before their users in other
// groups, up to `most` ops for one value (FusionLimits::max_recomputed); the groups must then be chosen again. Returns
// nothing if there is nothing to copy. Values are unchanged to the bit.
std::optional<graph::Graph> recompute(const graph::Graph& g, const std::vector<graph::FusionGroup>& groups,
                                      size_t most);

}  // namespace sheaf::passes
