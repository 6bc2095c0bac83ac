// A partition of a graph's nodes into kernels, as data: which nodes one kernel computes, and in which order the groups
// run. Passes choose the groups (passes/graph), `memory` plans for them, and each back end executes them in its own
// way.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace sheaf::graph {

// One kernel, or a product (GEMM) with the kernels that are fused with it. Every live node except inputs and views is a
// member of exactly one group or of one part of a group.
struct FusionGroup {
  enum Kind : uint8_t {
    Map,      // elementwise nodes over one space
    Rows,     // elementwise nodes and reductions along the last axis of the space, one row after the other
    Reduce,   // elementwise nodes and, as the root, a reduction along any axes
    Single,   // one node of another kind
    Product,  // the product of two matrices, with a prologue, an epilogue or both
  };
  struct Member {
    Node* node;
    bool row = false;         // has one value per row, not one per element
    SmallVec<int, 4> inputs;  // per operand: position of the member that computes it, or -1
    bool stored = false;      // read outside the group (the root always is)
  };
  Kind kind = Single;
  std::vector<Member> members;  // ascending ids; the last is the root. Product: the product alone
  Sizes space;                  // Map, Rows, Reduce: without axes of size 1
  // Product: at most one group each. They run before and after the product, or inside it, tile by tile.
  std::vector<FusionGroup> prologue;  // Map or Rows: computes the left operand, which nothing else reads
  std::vector<FusionGroup> epilogue;  // Map, or a sum of all elements: reads the result, and nothing of the prologue

  Node* root() const { return members.back().node; }
};

// Calls f for the kernels of a group in execution order: the prologue, the group itself, the epilogue.
template <class F>
void each_part(const FusionGroup& g, F f) {
  for (const FusionGroup& p : g.prologue)
    f(p);
  f(g);
  for (const FusionGroup& e : g.epilogue)
    f(e);
}

// Calls f for each operand that a kernel reads from outside itself.
template <class F>
void each_read(const FusionGroup& kernel, F f) {
  for (const FusionGroup::Member& m : kernel.members)
    for (size_t i = 0; i < m.node->inputs.size(); ++i)
      if (m.inputs.empty() || m.inputs[i] < 0)
        if (const Operand& o = m.node->inputs[i]; o.is_node()) f(o);
}

bool has_member(const FusionGroup& kernel, const Node* n);

// Sizes without those that are 1.
Sizes squeezed(const Sizes& sizes);
// The node under a chain of views. `o` must be a node's output.
Node* base_of(const Operand& o);

// One line per kernel, with the place in the program; `!` marks members that are stored.
std::string print(const std::vector<FusionGroup>& groups);

// Throws an internal error unless the groups satisfy the above: each computing node of the graph is in exactly one,
// each operand is computed before it is read, prologues and epilogues are legal.
void verify(const Graph& g, const std::vector<FusionGroup>& groups);

}  // namespace sheaf::graph
