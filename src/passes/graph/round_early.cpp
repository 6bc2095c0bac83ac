#include "passes/graph/round_early.h"

#include <memory>
#include <optional>
#include <unordered_map>

#include "graph/node_map.h"
#include "graph/op_def.h"
#include "ops/apply.h"
#include "passes/graph/rebuild.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

bool is_reshape(const Node& n) { return n.op->name == "reshape"; }

// The elementwise value that n rounds, perhaps reshaped.
const Node* rounded_by(const Node& n) {
  if (n.op->name != "cast" || !is_float(n.types[0].dtype) || !is_float(n.inputs[0].dtype()) ||
      size_bytes(n.types[0].dtype) >= size_bytes(n.inputs[0].dtype()))
    return nullptr;
  const Operand* o = &n.inputs[0];
  while (o->is_node() && is_reshape(*o->node()))
    o = &o->node()->inputs[0];
  return o->is_node() && o->node()->op->kind == graph::OpKind::Elementwise ? o->node().get() : nullptr;
}

class Rounding : public Rewrite {
 public:
  explicit Rounding(const std::vector<Node*>& nodes) : uses_(nodes) {
    for (const Node* n : nodes)
      for (const Operand& in : n->inputs)
        if (in.is_node()) ++uses_[in.node().get()];
    for (const Node* n : nodes)
      if (const Node* x = rounded_by(*n); x && uses_[x] > 1) rounds_.emplace(x, n);
    for (const Node* n : nodes)
      if (rounds_.count(n)) {
        first_ = n;
        break;
      }
  }

  const Node* first() const override { return first_; }

  Operand make(Node* n, const Rebuild& rebuild) override {
    if (auto r = rounds_.find(n); r != rounds_.end()) {
      Ref<Node> made = graph::with_inputs(*n, rebuild.renamed(n->inputs));
      const Operand wide(std::move(made), 0);
      narrow_[n] = ops::cast(wide, r->second->types[0].dtype);
      narrow_[n].node()->span = r->second->span;
      return wide;
    }
    const Node* const x = rounded_by(*n);
    auto early = narrow_.find(x);
    if (early == narrow_.end() || early->second.dtype() != n->types[0].dtype) return {};
    return ops::reshape(early->second, n->types[0].sizes);
  }

 private:
  const Node* first_ = nullptr;
  graph::NodeMap<int> uses_;
  std::unordered_map<const Node*, const Node*> rounds_;  // the first cast of a value
  std::unordered_map<const Node*, Operand> narrow_;      // by value: the rounded one
};

}  // namespace

graph::Graph round_early(const graph::Graph& g) {
  const std::vector<Node*> nodes = graph::live_nodes(g);
  const std::unique_ptr<Rewrite> rounding[] = {std::make_unique<Rounding>(nodes)};
  return rewritten(g, nodes, rounding);
}

}  // namespace sheaf::passes
