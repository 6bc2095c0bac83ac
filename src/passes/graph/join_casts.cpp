#include "passes/graph/join_casts.h"

#include <algorithm>

#include "graph/op_def.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

bool is_cast(const Node* n) { return n->op->name == "cast"; }

// Whether every float of one dtype is one of the other.
bool holds(DType wide, DType narrow) {
  const bool is_half = narrow == DType::BF16 || narrow == DType::F16;
  return (wide == DType::F32 && is_half) || (wide == DType::F64 && (is_half || narrow == DType::F32));
}

// The value that n is, if it was widened and is rounded again.
const Operand* origin(const Node* n) {
  if (!is_cast(n) || !n->inputs[0].is_node()) return nullptr;
  const Node* widened = n->inputs[0].node().get();
  if (!is_cast(widened)) return nullptr;
  const Operand& x = widened->inputs[0];
  return x.dtype() == n->types[0].dtype && holds(widened->types[0].dtype, x.dtype()) ? &x : nullptr;
}

class Joining : public Rewrite {
 public:
  explicit Joining(const std::vector<Node*>& nodes) {
    auto found = std::find_if(nodes.begin(), nodes.end(), origin);
    if (found != nodes.end()) first_ = *found;
  }

  const Node* first() const override { return first_; }

  Operand make(Node* n, const Rebuild& rebuild) override {
    const Operand* x = origin(n);
    return x ? rebuild.renamed(*x) : Operand();
  }

 private:
  const Node* first_ = nullptr;
};

}  // namespace

std::unique_ptr<Rewrite> join_casts(const graph::Graph&, const std::vector<Node*>& nodes) {
  return std::make_unique<Joining>(nodes);
}

}  // namespace sheaf::passes
