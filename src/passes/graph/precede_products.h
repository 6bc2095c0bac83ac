// Finds groups right in front of a product that make its first factor for nobody else, so that they can make rows of it
// as the product reads them, and it needs no memory.
#pragma once
#include <vector>

#include "passes/graph/fuse.h"

namespace sheaf::passes {

// Expects: groups in the order in which they will run.  Leaves: the same, with FusionGroup::before set.
void precede_products(const graph::Graph& g, std::vector<graph::FusionGroup>& groups);

}  // namespace sheaf::passes
