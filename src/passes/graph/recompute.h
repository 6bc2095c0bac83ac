// Values that only later kernels need from memory are computed there again, where that costs less.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "passes/graph/fuse.h"

namespace sheaf::passes {

// Expects: sizes known, and the groups that were chosen for the graph.  Leaves: copies of nodes in front of the users
// in other groups, `most` for one value (FusionLimits::max_recomputed), for which the groups must be chosen anew;
// nothing where there is none to copy. Values are unchanged to the bit.
std::optional<graph::Graph> recompute(const graph::Graph& g, const std::vector<graph::FusionGroup>& groups,
                                      size_t most);

}  // namespace sheaf::passes
