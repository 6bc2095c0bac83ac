#include "graph/graph.h"

#include <algorithm>
#include <unordered_set>

#include "graph/op_def.h"

namespace sheaf::graph {
namespace {

// Sorts by id. Where ids are dense, an array indexed by id is several times faster than a comparison sort.
std::vector<Node*> in_order(std::vector<Node*> nodes) {
  if (nodes.empty()) return nodes;
  uint64_t oldest = ~0ull, newest = 0;
  for (const Node* n : nodes)
    oldest = std::min(oldest, n->id), newest = std::max(newest, n->id);
  constexpr uint64_t kSpread = 16;
  if (newest - oldest >= kSpread * nodes.size()) {
    std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
    return nodes;
  }
  std::vector<Node*> by_id(newest - oldest + 1);
  for (Node* n : nodes)
    by_id[n->id - oldest] = n;
  std::copy_if(by_id.begin(), by_id.end(), nodes.begin(), [](const Node* n) { return n != nullptr; });
  return nodes;
}

}  // namespace

std::vector<Node*> live_nodes(const Graph& g, uint64_t oldest) {
  if (!g.nodes.empty() && oldest == 0) return g.nodes;
  // Every pass calls this, so it uses one bit per node: the nodes of a graph have nearby ids. Older nodes, such as
  // inputs from before, are few.
  constexpr uint64_t kWindow = 1 << 18;
  uint64_t newest = 0;
  for (const auto& n : g.inputs)
    newest = std::max(newest, n->id);
  for (const Operand& o : g.outputs)
    if (o.is_node()) newest = std::max(newest, o.node()->id);
  for (const auto& n : g.effects)
    newest = std::max(newest, n->id);
  if (newest < oldest) return {};
  uint64_t first = std::max(oldest, newest < kWindow ? 0 : newest - kWindow + 1);
  std::vector<bool> seen(newest - first + 1);
  std::unordered_set<Node*> seen_before;
  // Nodes are visited in the order in which they are found, so the list is also the worklist.
  std::vector<Node*> order;
  auto add = [&](Node* n) {
    if (n->id < oldest) return;
    if (n->id < first || n->id > newest) {
      if (!seen_before.insert(n).second) return;
    } else {
      if (seen[n->id - first]) return;
      seen[n->id - first] = true;
    }
    order.push_back(n);
  };
  for (const Operand& o : g.outputs)
    if (o.is_node()) add(o.node().get());
  for (const auto& n : g.effects)
    add(n.get());
  for (size_t i = 0; i < order.size(); ++i) {
    constexpr size_t kAhead = 4;
    if (i + 2 * kAhead < order.size()) __builtin_prefetch(&order[i + 2 * kAhead]->inputs);
    if (i + kAhead < order.size()) __builtin_prefetch(order[i + kAhead]->inputs.data());
    for (const Operand& in : order[i]->inputs)
      if (in.is_node()) add(in.node().get());
  }
  for (const auto& n : g.inputs)
    add(n.get());
  return in_order(std::move(order));
}

}  // namespace sheaf::graph
