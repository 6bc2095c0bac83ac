#include "memory/placement.h"

#include <algorithm>

#include "graph/op_def.h"

namespace sheaf::memory {

using graph::Arrangement;
using graph::FusionGroup;
using graph::Node;
using graph::Operand;

namespace {

// Contiguous runs shorter than this would be written and read element by element.
constexpr int64_t kLeastRun = 16;

int64_t run_length(const Sizes& sizes, int axis) {
  int64_t n = 1;
  for (size_t a = static_cast<size_t>(axis); a < sizes.size(); ++a)
    n *= sizes[a].value();
  return n;
}

// The node that computes an input's value; looks through the new axis of size 1 that `stack` adds.
Node* value_behind(const Operand& in) {
  if (!in.is_node()) return nullptr;
  Node* n = in.node().get();
  bool new_axis = n->op->arrangement == Arrangement::SameOrder && n->inputs[0].is_node() &&
                  graph::squeezed(n->types[0].sizes) == graph::squeezed(n->inputs[0].sizes());
  return new_axis ? n->inputs[0].node().get() : n;
}

}  // namespace

Placement::Placement(const graph::Graph& g, const std::vector<FusionGroup>& groups) : parts_(g.nodes) {
  bool any = false;
  for (const FusionGroup& group : groups)
    any |= group.root()->op->arrangement == Arrangement::Joined;
  if (!any) return;
  graph::NodeMap<char> can_be_placed(g.nodes);
  for (const FusionGroup& group : groups)
    each_part(group, [&](const FusionGroup& part) {
      if (part.kind == FusionGroup::Map || part.kind == FusionGroup::Rows)
        for (const FusionGroup::Member& m : part.members)
          can_be_placed[m.node] = m.stored;
    });
  // Outputs of the graph need arrays of their own.
  for (const Operand& o : g.outputs)
    if (o.is_node()) can_be_placed[graph::base_of(o)] = 0;
  for (const FusionGroup& group : groups) {
    Node* n = group.root();
    if (n->op->arrangement != Arrangement::Joined) continue;
    int axis = static_cast<int>(n->attrs.integer("axis"));
    std::vector<std::pair<size_t, Node*>> places;
    for (size_t i = 0; i < n->inputs.size(); ++i) {
      Node* made = value_behind(n->inputs[i]);
      bool free =
          made && can_be_placed[made] && !parts_[made].concat && run_length(n->inputs[i].sizes(), axis) >= kLeastRun;
      if (free && std::none_of(places.begin(), places.end(), [&](const auto& p) { return p.second == made; }))
        places.emplace_back(i, made);
    }
    // Pays only if at most one input is left to copy, so that the concatenation takes one launch.
    if (places.size() + 1 < n->inputs.size()) continue;
    for (auto [input, made] : places)
      parts_[made] = {n, input};
  }
}

bool Placement::is_placed(const Node* concat, size_t input) const {
  const Node* made = value_behind(concat->inputs[input]);
  return made && parts_[made].concat == concat && parts_[made].input == input;
}

}  // namespace sheaf::memory
