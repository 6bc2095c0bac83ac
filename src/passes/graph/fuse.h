// Chooses which nodes are computed together by one kernel.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace sheaf::passes {

// A kernel to be. Every live node except inputs and views is a member of exactly one group.
struct FusionGroup {
  enum Kind : uint8_t {
    Map,     // elementwise nodes over one space
    Rows,    // elementwise nodes and reductions along the last axis of the space, one row after the other
    Reduce,  // elementwise nodes and, as the root, a reduction along any axes
    Single,  // one node of another kind
  };
  struct Member {
    graph::Node* node;
    bool row = false;         // has one value per row, not one per element
    SmallVec<int, 4> inputs;  // for each operand the position of the member that makes it, or -1
    bool stored = false;      // needed outside (the root always is)
  };
  Kind kind = Single;
  std::vector<Member> members;  // ascending ids; the last is the root
  Sizes space;                  // Map, Rows, Reduce: without axes of size 1
  bool behind = false;          // may take the product of the group before it part by part (follow_products.h)
  graph::Node* root() const { return members.back().node; }
};

// Sizes without the ones.
Sizes squeezed(const Sizes& sizes);
// The array behind any chain of views; of an operand that is a node.
graph::Node* base_of(const graph::Operand& o);

// Expects: sizes known.  Leaves: groups in an order in which each finds its inputs ready. Without `merge` every node is a
// group of its own.
std::vector<FusionGroup> choose_groups(const graph::Graph& g, bool merge = true);

}  // namespace sheaf::passes
