// Chooses which nodes are computed together by one kernel.
#pragma once
#include <vector>

#include "graph/fusion_group.h"

namespace sheaf::passes {

// Expects: sizes known.  Leaves: groups in an order in which each finds its inputs ready. Without `merge` every node is
// a group of its own.
std::vector<graph::FusionGroup> choose_groups(const graph::Graph& g, bool merge = true);

}  // namespace sheaf::passes
