#include "graph/graph.h"

#include <algorithm>
#include <unordered_set>

#include "graph/op_def.h"

namespace sheaf::graph {
std::vector<Node*> live_nodes(const Graph& g) {
  // Every pass asks: a sorted vector and one hash table, no tree.
  std::unordered_set<Node*> found;
  found.reserve(1024);
  std::vector<Node*> order, todo;
  auto add = [&](Node* n) {
    if (!found.insert(n).second) return false;
    order.push_back(n);
    return true;
  };
  for (const auto& n : g.inputs) add(n.get());
  for (const Operand& o : g.outputs)
    if (o.is_node()) todo.push_back(o.node().get());
  for (const auto& n : g.effects) todo.push_back(n.get());
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    if (!add(n)) continue;
    for (const Operand& in : n->inputs)
      if (in.is_node()) todo.push_back(in.node().get());
  }
  std::sort(order.begin(), order.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
  return order;
}

}  // namespace sheaf::graph
