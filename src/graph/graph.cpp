#include "graph/graph.h"

#include <algorithm>
#include <unordered_set>

#include "graph/op_def.h"

namespace sheaf::graph {
std::vector<Node*> live_nodes(const Graph& g) {
  // Every pass asks, so this is worth a bit for each node: those of a graph are made one after the other. Older ones, such as
  // inputs that were there before, are few.
  constexpr uint64_t kWindow = 1 << 18;
  uint64_t newest = 0;
  for (const auto& n : g.inputs) newest = std::max(newest, n->id);
  for (const Operand& o : g.outputs)
    if (o.is_node()) newest = std::max(newest, o.node()->id);
  for (const auto& n : g.effects) newest = std::max(newest, n->id);
  uint64_t first = newest < kWindow ? 0 : newest - kWindow + 1;
  std::vector<bool> seen(newest - first + 1);
  std::unordered_set<Node*> seen_before;
  std::vector<Node*> order, todo;
  auto add = [&](Node* n) {
    if (n->id < first || n->id > newest) {
      if (!seen_before.insert(n).second) return false;
    } else {
      if (seen[n->id - first]) return false;
      seen[n->id - first] = true;
    }
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
