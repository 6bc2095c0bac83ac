#include "passes/graph/join_reshapes.h"

#include <algorithm>

#include "graph/op_def.h"
#include "ops/apply.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

bool is_reshape(const Node* n) { return n->op->name == "reshape"; }

bool can_go(const Node* n) {
  if (!is_reshape(n)) return false;
  const Operand& x = n->inputs[0];
  return (x.is_node() && is_reshape(x.node().get())) || x.sizes() == n->types[0].sizes;
}

class Joining : public Rewrite {
 public:
  explicit Joining(const std::vector<Node*>& nodes) {
    auto found = std::find_if(nodes.begin(), nodes.end(), can_go);
    if (found != nodes.end()) first_ = *found;
  }

  const Node* first() const override { return first_; }

  // The earlier reshapes stay alive only if they have other readers.
  Operand make(Node* n, const Rebuild& rebuild) override {
    if (!can_go(n)) return {};
    Operand x = n->inputs[0];
    while (x.is_node() && is_reshape(x.node().get()))
      x = Operand(x.node()->inputs[0]);
    return ops::reshape(rebuild.renamed(x), n->types[0].sizes);
  }

 private:
  const Node* first_ = nullptr;
};

}  // namespace

std::unique_ptr<Rewrite> join_reshapes(const graph::Graph&, const std::vector<Node*>& nodes) {
  return std::make_unique<Joining>(nodes);
}

}  // namespace sheaf::passes
