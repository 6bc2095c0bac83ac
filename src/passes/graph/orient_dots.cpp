#include "passes/graph/orient_dots.h"

#include <algorithm>
#include <unordered_map>

#include "graph/node_map.h"
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
  explicit Orienting(const graph::Graph& g) : g_(g), nodes_(live_nodes(g)), users_(nodes_), replacement_(nodes_) {
    for (Node* n : nodes_)
      for (const Operand& in : n->inputs)
        if (in.is_node() && leads_to_transposes(in.node().get())) users_[in.node().get()].push_back(n);
    for (const Operand& o : g.outputs)
      if (o.is_node()) users_[o.node().get()].push_back(nullptr);
  }

  graph::Graph run() {
    auto first = std::find_if(nodes_.begin(), nodes_.end(), [&](Node* n) { return turns(n); });
    if (first == nodes_.end()) return g_;
    for (const auto& n : g_.inputs) replacement_[n.get()] = n;
    // Nodes must stay in their order, which is that of their ids: all are made again from the first one that turns.
    for (auto n = nodes_.begin(); n != first; ++n) replacement_[*n] = Ref<Node>(*n);
    for (auto n = first; n != nodes_.end(); ++n)
      if (!replacement_[*n] && !turned_.count(*n)) visit(*n);
    graph::Graph out{g_.inputs, {}, {}};
    for (const auto& n : g_.effects) out.effects.push_back(replacement_[n.get()]);
    for (const Operand& o : g_.outputs) out.outputs.push_back(renamed(o));
    return out;
  }

 private:
  // Whose users matter: products, and what may stand between them and transposes.
  static bool leads_to_transposes(const Node* n) { return n->op->name == "dot" || n->op->name == "reshape"; }

  bool turns(Node* n) const { return n->op->name == "dot" && only_transposed(n); }

  bool only_transposed(Node* n) const {
    const Users& users = users_[n];
    return !users.empty() && std::all_of(users.begin(), users.end(), [&](Node* u) { return u && (swaps_last_two(u) || (keeps_matrices(u) && only_transposed(u))); });
  }

  Operand renamed(const Operand& o) const {
    if (!o.is_node()) return o;
    const Ref<Node>& n = replacement_[o.node().get()];
    return n ? Operand(n, o.index()) : turned_.at(o.node().get());
  }

  void visit(Node* n) {
    std::vector<Operand> inputs;
    inputs.reserve(n->inputs.size());
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
    for (Node* u : users_[n]) {
      if (swaps_last_two(u)) turned_[u] = ops::reshape(y, u->types[0].sizes);
      else forward(u, turned_[u] = y);
    }
  }

  using Users = std::vector<Node*>;  // nullptr: an output
  const graph::Graph& g_;
  std::vector<Node*> nodes_;
  graph::NodeMap<Users> users_;
  graph::NodeMap<Ref<Node>> replacement_;
  std::unordered_map<Node*, Operand> turned_;
};

}  // namespace

graph::Graph orient_dots(const graph::Graph& g) { return Orienting(g).run(); }

}  // namespace sheaf::passes
