#include "passes/graph/share.h"

#include <vector>

#include "graph/node_map.h"
#include "graph/op_def.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

// Two constants are equal if they share memory, or are equal scalars.
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
  return t.rank() == 0 ? static_cast<uint64_t>(element_as_int(t, 0)) + static_cast<uint64_t>(t.dtype)
                       : t.sizes.size() + 7;
}

// A hash set of nodes by what they compute: open addressing, at most half full.
class Known {
 public:
  explicit Known(size_t most) {
    size_t size = 16;
    while (size < 2 * most)
      size *= 2;
    slots_.resize(size);
  }
  // The node that `same` accepts, or an empty slot for it.
  template <class F>
  Node*& find(uint64_t hash, F same) {
    size_t mask = slots_.size() - 1;
    for (size_t i = (hash ^ hash >> 32) & mask;; i = (i + 1) & mask) {
      Slot& s = slots_[i];
      if (!s.node) s.hash = hash;
      if (!s.node || (s.hash == hash && same(s.node))) return s.node;
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    Node* node = nullptr;
  };
  std::vector<Slot> slots_;
};

}  // namespace

graph::Graph share_common(const graph::Graph& g) {
  std::vector<Node*> live = live_nodes(g);
  Known known(live.size());
  graph::NodeMap<Ref<Node>> replacement(live);
  auto renamed = [&](const Operand& o) { return o.is_node() ? Operand(replacement[o.node().get()], o.index()) : o; };
  for (const auto& n : g.inputs)
    replacement[n.get()] = n;
  graph::Graph out{g.inputs, {}, {}, {}};
  out.nodes.reserve(live.size());
  // Nodes must stay in the order of their ids, so all nodes after the first removed one are rebuilt.
  bool any_gone = false;
  std::vector<Node*> again;
  std::vector<Operand> inputs;
  for (Node* n : live) {
    if (replacement[n]) {
      out.nodes.push_back(n);
      continue;
    }
    inputs.clear();
    uint64_t hash = reinterpret_cast<uint64_t>(n->op) ^ n->attrs.hash();
    for (const Operand& in : n->inputs) {
      inputs.push_back(renamed(in));
      hash = hash * 0x9E3779B97F4A7C15ull + hash_operand(inputs.back());
    }
    auto made = [&] {
      Ref<Node> node = any_gone ? with_inputs(*n, inputs) : Ref<Node>(n);
      (any_gone ? again : out.nodes).push_back(node.get());
      return node;
    };
    if (n->custom || n->host || !n->subgraphs.empty()) {
      replacement[n] = made();
      continue;
    }
    Node*& found = known.find(hash, [&](const Node* k) {
      bool same = k->op == n->op && k->attrs == n->attrs && k->inputs.size() == inputs.size();
      for (size_t i = 0; same && i < inputs.size(); ++i)
        same = same_operand(k->inputs[i], inputs[i]);
      return same;
    });
    if (found) {
      any_gone = true;
      replacement[n] = Ref<Node>(found);
    } else {
      replacement[n] = made();
      found = replacement[n].get();
    }
  }
  out.nodes.insert(out.nodes.end(), again.begin(), again.end());
  for (const auto& n : g.effects)
    out.effects.push_back(replacement[n.get()]);
  for (const Operand& o : g.outputs)
    out.outputs.push_back(renamed(o));
  return out;
}

}  // namespace sheaf::passes
