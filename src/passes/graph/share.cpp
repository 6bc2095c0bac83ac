#include "passes/graph/share.h"

#include <unordered_map>

#include "graph/op_def.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

// Constants are the same when they are the same memory, or the same scalar.
bool same_operand(const Operand& a, const Operand& b) {
  if (a.is_node() || b.is_node()) return a.is_node() && b.is_node() && a.node() == b.node() && a.index() == b.index();
  const Tensor &x = a.value(), &y = b.value();
  if (x.dtype != y.dtype || !(x.sizes == y.sizes)) return false;
  if (x.buffer == y.buffer && x.offset == y.offset && x.strides == y.strides) return true;
  return x.rank() == 0 && std::equal(x.bytes(), x.bytes() + size_bytes(x.dtype), y.bytes());
}

uint64_t hash_operand(const Operand& o) {
  if (o.is_node()) return o.node()->id * 31 + o.index();
  const Tensor& t = o.value();
  return t.rank() == 0 ? static_cast<uint64_t>(element_as_int(t, 0)) + static_cast<uint64_t>(t.dtype) : t.sizes.size() + 7;
}

}  // namespace

graph::Graph share_common(const graph::Graph& g) {
  std::unordered_multimap<uint64_t, Ref<Node>> known;
  std::unordered_map<Node*, Ref<Node>> replacement;
  auto renamed = [&](const Operand& o) {
    if (!o.is_node()) return o;
    auto it = replacement.find(o.node().get());
    return it == replacement.end() ? o : Operand(it->second, o.index());
  };
  std::vector<Node*> live = live_nodes(g);
  known.reserve(live.size());
  replacement.reserve(live.size());
  for (const auto& n : g.inputs) replacement[n.get()] = n;
  for (Node* n : live) {
    if (replacement.count(n)) continue;
    std::vector<Operand> inputs;
    uint64_t hash = reinterpret_cast<uint64_t>(n->op) ^ n->attrs.hash();
    for (const Operand& in : n->inputs) {
      inputs.push_back(renamed(in));
      hash = hash * 0x9E3779B97F4A7C15ull + hash_operand(inputs.back());
    }
    Ref<Node> found;
    auto [begin, end] = known.equal_range(hash);
    bool unique = n->custom || n->host || !n->subgraphs.empty();
    for (auto it = begin; it != end && !found && !unique; ++it) {
      Node* k = it->second.get();
      bool same = k->op == n->op && k->attrs == n->attrs && k->inputs.size() == inputs.size();
      for (size_t i = 0; same && i < inputs.size(); ++i) same = same_operand(k->inputs[i], inputs[i]);
      if (same) found = it->second;
    }
    if (!found) {
      found = with_inputs(*n, std::move(inputs));
      known.emplace(hash, found);
    }
    replacement[n] = found;
  }
  graph::Graph out{g.inputs, {}, {}};
  for (const auto& n : g.effects) out.effects.push_back(replacement.at(n.get()));
  for (const Operand& o : g.outputs) out.outputs.push_back(renamed(o));
  return out;
}

}  // namespace sheaf::passes
