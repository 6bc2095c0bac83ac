// Cheap values that only later kernels need from memory are computed there again.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "passes/graph/fuse.h"

namespace sheaf::passes {

// Expects: sizes known, and the groups that were chosen for the graph.  Leaves: copies of cheap nodes in front of the
// users in other groups, for which the groups must be chosen anew; nothing where there is none to copy. Values are
// unchanged to the bit.
std::optional<graph::Graph> recompute(const graph::Graph& g, const std::vector<graph::FusionGroup>& groups);

}  // namespace sheaf::passes
