#include "passes/graph/orient_dots.h"

#include <algorithm>
#include <unordered_map>

#include "graph/op_def.h"
#include "ops/apply.h"

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

bool is_dot(const Node* n) { return n->op->name == "dot" || n->op->name == "wide_dot"; }

// Regroups only the axes before the matrices.
bool keeps_matrices(const Node* n) {
  if (n->op->name != "reshape") return false;
  const Sizes &in = n->inputs[0].sizes(), &out = n->types[0].sizes;
  return in.size() >= 2 && out.size() >= 2 && in[in.size() - 1] == out[out.size() - 1] &&
         in[in.size() - 2] == out[out.size() - 2];
}

class Orienting : public Rewrite {
 public:
  Orienting(const graph::Graph& g, const std::vector<Node*>& nodes) : users_(nodes) {
    for (Node* n : nodes)
      for (const Operand& in : n->inputs)
        if (in.is_node() && leads_to_transposes(in.node().get())) users_[in.node().get()].push_back(n);
    for (const Operand& o : g.outputs)
      if (o.is_node()) users_[o.node().get()].push_back(nullptr);
    auto found = std::find_if(nodes.begin(), nodes.end(), [&](Node* n) { return turns(n); });
    if (found != nodes.end()) first_ = *found;
  }

  const Node* first() const override { return first_; }

  Operand make(Node* n, const Rebuild& rebuild) override {
    if (auto known = transposed_.find(n); known != transposed_.end()) return known->second;
    if (!turns(n)) return {};
    Operand y = graph::apply(
        *n->op, {ops::swap_last_two(rebuild.renamed(n->inputs[1])), ops::swap_last_two(rebuild.renamed(n->inputs[0]))});
    if (y.is_node()) y.node()->span = n->span;
    forward(n, y);
    return y;
  }

 private:
  // True for nodes whose users are tracked: products, and reshapes between them and transposes.
  static bool leads_to_transposes(const Node* n) { return is_dot(n) || n->op->name == "reshape"; }

  bool turns(Node* n) const { return is_dot(n) && only_transposed(n); }

  bool only_transposed(Node* n) const {
    const Users& users = users_[n];
    return !users.empty() && std::all_of(users.begin(), users.end(), [&](Node* u) {
      return u && (swaps_last_two(u) || (keeps_matrices(u) && only_transposed(u)));
    });
  }

  // Replaces everything between a transposed dot and the transposes: their results are now the product itself.
  void forward(Node* n, const Operand& y) {
    for (Node* u : users_[n]) {
      if (swaps_last_two(u))
        transposed_[u] = ops::reshape(y, u->types[0].sizes);
      else
        forward(u, transposed_[u] = y);
    }
  }

  using Users = std::vector<Node*>;  // nullptr: an output
  const Node* first_ = nullptr;
  graph::NodeMap<Users> users_;
  std::unordered_map<Node*, Operand> transposed_;  // the replacement of a product
};

}  // namespace

std::unique_ptr<Rewrite> orient_dots(const graph::Graph& g, const std::vector<Node*>& nodes) {
  return std::make_unique<Orienting>(g, nodes);
}

}  // namespace sheaf::passes
