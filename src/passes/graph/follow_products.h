// Puts elementwise groups and sums of all elements right behind the products whose results they read, so that they can
// take them part by part while these are in a cache.
#pragma once
#include <vector>

#include "passes/graph/fuse.h"

namespace sheaf::passes {

// Expects: groups in an order in which each finds its inputs ready.  Leaves: such an order, with FusionGroup::behind
// set.
std::vector<graph::FusionGroup> follow_products(const graph::Graph& g, std::vector<graph::FusionGroup> groups);

}  // namespace sheaf::passes
