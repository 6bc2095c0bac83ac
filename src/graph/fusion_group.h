// Which nodes of a graph are computed together by one kernel: what passes/graph/fuse.h chooses, memory/ places and
// compiler/ turns into kernels. Data only; the nodes belong to the graph and must outlive the groups.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace sheaf::graph {

// A kernel to be. Every live node except inputs and views is a member of exactly one group.
struct FusionGroup {
  enum Kind : uint8_t {
    Map,     // elementwise nodes over one space
    Rows,    // elementwise nodes and reductions along the last axis of the space, one row after the other
    Reduce,  // elementwise nodes and, as the root, a reduction along any axes
    Single,  // one node of another kind
  };
  struct Member {
    Node* node;
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
  Node* root() const { return members.back().node; }
};

// Calls f for each operand that comes from outside the group.
template <class F>
void each_read(const FusionGroup& g, F f) {
  for (const FusionGroup::Member& m : g.members)
    for (size_t i = 0; i < m.node->inputs.size(); ++i)
      if (m.inputs.empty() || m.inputs[i] < 0)
        if (const Operand& o = m.node->inputs[i]; o.is_node()) f(o);
}

// Sizes without the ones.
Sizes squeezed(const Sizes& sizes);
// The array behind any chain of views; of an operand that is a node.
Node* base_of(const Operand& o);

}  // namespace sheaf::graph
