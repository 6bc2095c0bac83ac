#include "passes/graph/orient_dots.h"

#include <algorithm>
#include <unordered_map>

#include "graph/op_def.h"
#include "ops/emit.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

// Swaps the last two axes and leaves the others.
bool swaps_last_two(const Node* n) {
  if (n->op->name != "transpose") return false;
  const Sizes& perm = n->attrs.sizes("perm");
  int64_t rank = static_cast<int64_t>(perm.size());
  for (int64_t a = 0; a < rank; ++a)
    if (perm[a].value() != (a < rank - 2 ? a : a == rank - 2 ? rank - 1 : rank - 2)) return false;
  return rank >= 2;
}

// Regroups only the axes before the matrices.
bool keeps_matrices(const Node* n) {
  if (n->op->name != "reshape") return false;
  const Sizes &in = n->inputs[0].sizes(), &out = n->types[0].sizes;
  return in.size() >= 2 && out.size() >= 2 && in[in.size() - 1] == out[out.size() - 1] && in[in.size() - 2] == out[out.size() - 2];
}

class Orienting {
 public:
  graph::Graph run(const graph::Graph& g) {
    std::vector<Node*> nodes = live_nodes(g);
    for (Node* n : nodes)
      for (const Operand& in : n->inputs)
        if (in.is_node()) users_[in.node().get()].push_back(n);
    for (const Operand& o : g.outputs)
      if (o.is_node()) users_[o.node().get()].push_back(nullptr);
    bool any = std::any_of(nodes.begin(), nodes.end(), [&](Node* n) { return turns(n); });
    if (!any) return g;
    for (const auto& n : g.inputs) replacement_[n.get()] = n;
    for (Node* n : nodes)
      if (!replacement_.count(n) && !turned_.count(n)) visit(n);
    graph::Graph out{g.inputs, {}, {}};
    for (const auto& n : g.effects) out.effects.push_back(replacement_.at(n.get()));
    for (const Operand& o : g.outputs) out.outputs.push_back(renamed(o));
    return out;
  }

 private:
  bool turns(Node* n) const { return n->op->name == "dot" && only_transposed(n); }

  bool only_transposed(Node* n) const {
    auto it = users_.find(n);
    if (it == users_.end()) return false;
    return std::all_of(it->second.begin(), it->second.end(), [&](Node* u) { return u && (swaps_last_two(u) || (keeps_matrices(u) && only_transposed(u))); });
  }

  Operand renamed(const Operand& o) const {
    if (!o.is_node()) return o;
    auto it = turned_.find(o.node().get());
    return it != turned_.end() ? it->second : Operand(replacement_.at(o.node().get()), o.index());
  }

  void visit(Node* n) {
    std::vector<Operand> inputs;
    for (const Operand& in : n->inputs) inputs.push_back(renamed(in));
    if (turns(n)) {
      Operand y = ops::dot(ops::swap_last_two(inputs[1]), ops::swap_last_two(inputs[0]));
      if (y.is_node()) y.node()->span = n->span;
      turned_[n] = y;
      forward(n, y);
      return;
    }
    replacement_[n] = with_inputs(*n, std::move(inputs));
  }

  // Everything between a turned dot and the transposes: what those gave is now the product itself.
  void forward(Node* n, const Operand& y) {
    for (Node* u : users_.at(n)) {
      if (swaps_last_two(u)) turned_[u] = ops::reshape(y, u->types[0].sizes);
      else forward(u, turned_[u] = y);
    }
  }

  std::unordered_map<Node*, std::vector<Node*>> users_;  // nullptr: an output
  std::unordered_map<Node*, Ref<Node>> replacement_;
  std::unordered_map<Node*, Operand> turned_;
};

}  // namespace

graph::Graph orient_dots(const graph::Graph& g) { return Orienting().run(g); }

}  // namespace sheaf::passes
