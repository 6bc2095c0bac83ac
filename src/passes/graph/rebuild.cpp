#include "passes/graph/rebuild.h"

namespace sheaf::passes {

using graph::Node;
using graph::Operand;

Rebuild::Rebuild(const graph::Graph& g, const std::vector<Node*>& nodes, const Node* first)
    : g_(g), nodes_(nodes), replacement_(nodes) {
  for (const auto& n : g.inputs)
    replacement_[n.get()] = Operand(n, 0);
  for (Node* n : nodes) {
    if (n->id >= first->id) break;
    replacement_[n] = Operand(Ref<Node>(n), 0);
  }
}

Operand Rebuild::renamed(const Operand& o) const {
  if (!o.is_node()) return o;
  const Operand& r = replacement_[o.node().get()];
  return o.index() == 0 ? r : Operand(r.node(), o.index());
}

std::vector<Operand> Rebuild::renamed(const std::vector<Operand>& operands) const {
  std::vector<Operand> out;
  out.reserve(operands.size());
  for (const Operand& o : operands)
    out.push_back(renamed(o));
  return out;
}

graph::Graph rewritten(const graph::Graph& g, const std::vector<Node*>& nodes,
                       std::span<const std::unique_ptr<Rewrite>> rewrites) {
  const Node* first = nullptr;
  for (const auto& r : rewrites)
    if (const Node* n = r->first(); n && (!first || n->id < first->id)) first = n;
  if (!first) return g;
  Rebuild rebuild(g, nodes, first);
  return rebuild.run([&](Node* n) {
    for (const auto& r : rewrites)
      if (Operand o = r->make(n, rebuild)) return o;
    return Operand();
  });
}

graph::Graph Rebuild::finished() const {
  graph::Graph out{g_.inputs, {}, {}};
  for (const auto& n : g_.effects)
    out.effects.push_back(replacement_[n.get()].node());
  out.outputs = renamed(g_.outputs);
  out.nodes = live_nodes(out);
  return out;
}

}  // namespace sheaf::passes
