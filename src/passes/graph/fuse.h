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
  int64_t before = 0;           // may make rows of so many elements, of a factor that only the product behind it reads
                                // (precede_products.h); 0: none
  graph::Node* root() const { return members.back().node; }
};

// Calls f for each operand that comes from outside the group.
template <class F>
void each_read(const FusionGroup& g, F f) {
  for (const FusionGroup::Member& m : g.members)
    for (size_t i = 0; i < m.node->inputs.size(); ++i)
      if (m.inputs.empty() || m.inputs[i] < 0)
        if (const graph::Operand& o = m.node->inputs[i]; o.is_node()) f(o);
}
// The product of one pair of matrices, of several rows and columns, or nullptr.
const graph::Node* product_of(const FusionGroup& g);

// Sizes without the ones.
Sizes squeezed(const Sizes& sizes);
// The array behind any chain of views; of an operand that is a node.
graph::Node* base_of(const graph::Operand& o);

// Expects: sizes known.  Leaves: groups in an order in which each finds its inputs ready. Without `merge` every node is
// a group of its own.
std::vector<FusionGroup> choose_groups(const graph::Graph& g, bool merge = true);

}  // namespace sheaf::passes
