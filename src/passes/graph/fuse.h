// Chooses which elementwise nodes are computed together: with the elementwise node or the reduction that consumes them.
#pragma once
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace sheaf::passes {

struct FusionGroup {
  std::vector<graph::Node*> members;  // ascending ids; the last is the root
  std::vector<graph::Node*> stored;   // members whose value is needed outside (the root among them)
  graph::Node* root() const { return members.back(); }
};

// Expects: sizes known.  Leaves: every live node except inputs and views is in exactly one group; groups are in an order in
// which each finds its inputs ready.
std::vector<FusionGroup> choose_groups(const graph::Graph& g);

}  // namespace sheaf::passes
