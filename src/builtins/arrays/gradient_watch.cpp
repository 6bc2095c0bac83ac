#include "builtins/arrays/gradient_watch.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/apply.h"
#include "ops/table.h"

namespace sheaf::builtins {

using graph::Node;
using graph::Operand;

std::function<void(const Value&, const graph::Graph&)> g_gradient_listener;

graph::Graph passes_of(const Operand& y, const std::vector<Operand>& wrt, const std::vector<Operand>& gradients) {
  constexpr int64_t kShownElements = 16;
  graph::Graph whole, out;
  whole.outputs = {y};
  for (size_t i = 0; i < wrt.size(); ++i)
    whole.outputs.push_back(gradients[i] ? gradients[i] : ops::zeros(wrt[i].type()));
  auto input = [&](const graph::TensorType& type) {
    out.inputs.push_back(make_ref<Node>(&ops::op("input"), graph::Attrs{}, std::vector<Operand>{},
                                        std::vector<graph::TensorType>{type}));
    return out.inputs.back();
  };
  std::unordered_map<const Node*, Ref<Node>> made;
  for (const Operand& x : wrt)
    made[x.node().get()] = input(x.type());
  auto renamed = [&](const Operand& o) {
    if (o.is_node()) return Operand(made.at(o.node().get()), o.index());
    return o.value().num_elems() <= kShownElements ? o : Operand(input(o.type()), 0);
  };
  for (Node* n : live_nodes(whole)) {
    if (made.count(n)) continue;
    // An input, given by the caller or by an enclosing gradient.
    bool is_given = n->op->role == graph::Role::Input || n->op->role == graph::Role::Leaf;
    std::vector<Operand> inputs;
    for (const Operand& x : n->inputs)
      if (!is_given) inputs.push_back(renamed(x));
    made[n] = is_given ? input(n->types[0]) : with_inputs(*n, std::move(inputs));
  }
  for (const Operand& o : whole.outputs)
    out.outputs.push_back(renamed(o));
  // Excludes the nodes from which the arguments themselves were computed.
  std::vector<Node*> live = graph::live_nodes({{}, out.outputs, {}});
  std::unordered_set<const Node*> used(live.begin(), live.end());
  out.inputs.erase(std::remove_if(out.inputs.begin() + static_cast<ptrdiff_t>(wrt.size()), out.inputs.end(),
                                  [&](const auto& n) { return !used.count(n.get()); }),
                   out.inputs.end());
  return out;
}

}  // namespace sheaf::builtins
