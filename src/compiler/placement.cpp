#include "compiler/placement.h"

#include "graph/op_def.h"

namespace sheaf::compiler {

using graph::Node;
using graph::Operand;
using passes::FusionGroup;

namespace {

// Shorter pieces of memory than these would be written and read element by element.
constexpr int64_t kLeastRun = 16;

int64_t run_length(const Sizes& sizes, int axis) {
  int64_t n = 1;
  for (size_t a = static_cast<size_t>(axis); a < sizes.size(); ++a) n *= sizes[a].value();
  return n;
}

}  // namespace

Placement::Placement(const graph::Graph& g, const std::vector<FusionGroup>& groups) : can_be_placed_(g.nodes), parts_(g.nodes) {
  bool any = false;
  for (const FusionGroup& group : groups) any |= group.root()->op->name == "concat";
  if (!any) return;
  for (const FusionGroup& group : groups)
    if (group.kind == FusionGroup::Map || group.kind == FusionGroup::Rows)
      for (const FusionGroup::Member& m : group.members) can_be_placed_[m.node] = m.stored;
  // The caller gets arrays of their own.
  for (const Operand& o : g.outputs)
    if (o.is_node()) can_be_placed_[passes::base_of(o)] = 0;
  for (const FusionGroup& group : groups) {
    Node* n = group.root();
    if (n->op->name != "concat") continue;
    int axis = static_cast<int>(n->attrs.integer("axis"));
    std::vector<std::pair<size_t, Node*>> places;
    for (size_t i = 0; i < n->inputs.size(); ++i)
      if (Node* made = placeable(n->inputs[i]); made && run_length(n->inputs[i].sizes(), axis) >= kLeastRun) places.emplace_back(i, made);
    // One launch for the parts that are copied is all that the concatenation takes.
    if (places.size() + 1 < n->inputs.size()) continue;
    for (auto [input, made] : places)
      if (!parts_[made].concat) parts_[made] = {n, input};
  }
}

Node* Placement::placeable(const Operand& in) const {
  if (!in.is_node()) return nullptr;
  Node* n = in.node().get();
  // A new axis of one element, as `stack` makes it.
  if (n->op->name == "reshape" && n->inputs[0].is_node() && passes::squeezed(n->types[0].sizes) == passes::squeezed(n->inputs[0].sizes())) n = n->inputs[0].node().get();
  return can_be_placed_[n] && !parts_[n].concat ? n : nullptr;
}

bool Placement::is_placed(const Node* concat, size_t input) const {
  const Operand& in = concat->inputs[input];
  if (!in.is_node()) return false;
  auto is_there = [&](const Node* n) { return parts_[n].concat == concat && parts_[n].input == input; };
  const Node* n = in.node().get();
  return is_there(n) || (n->op->name == "reshape" && n->inputs[0].is_node() && is_there(n->inputs[0].node().get()));
}

}  // namespace sheaf::compiler
