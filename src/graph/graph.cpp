#include "graph/graph.h"

#include <map>

#include "graph/op_def.h"

namespace sheaf::graph {
std::vector<Node*> live_nodes(const Graph& g) {
  std::map<uint64_t, Node*> found;
  std::vector<Node*> todo;
  for (const auto& n : g.inputs) found.emplace(n->id, n.get());
  for (const Operand& o : g.outputs)
    if (o.is_node()) todo.push_back(o.node().get());
  for (const auto& n : g.effects) todo.push_back(n.get());
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    if (!found.emplace(n->id, n).second) continue;
    for (const Operand& in : n->inputs)
      if (in.is_node()) todo.push_back(in.node().get());
  }
  std::vector<Node*> order;
  for (auto& [id, n] : found) order.push_back(n);
  return order;
}

}  // namespace sheaf::graph
