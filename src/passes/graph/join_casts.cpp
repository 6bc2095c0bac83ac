#include "passes/graph/join_casts.h"

#include <algorithm>
#include <map>
#include <optional>

#include "graph/node_map.h"
#include "graph/op_def.h"
#include "ops/apply.h"
#include "passes/graph/rebuild.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

// Whether every float of one dtype is one of the other.
bool holds(DType wide, DType narrow) {
  const bool is_half = narrow == DType::BF16 || narrow == DType::F16;
  return (wide == DType::F32 && is_half) || (wide == DType::F64 && (is_half || narrow == DType::F32));
}

bool is_cast(const Node& n) { return n.op->name == "cast"; }
bool is_rounding(const Node& n) { return is_cast(n) && holds(n.inputs[0].dtype(), n.types[0].dtype); }
// What `n` widens, if it does and that has dtype d.
const Operand* widened_from(const Node& n, DType d) {
  return is_cast(n) && n.inputs[0].dtype() == d && holds(n.types[0].dtype, d) ? &n.inputs[0] : nullptr;
}
bool is_concat(const Node& n) { return n.op->name == "concat"; }
// The same elements at other places.
bool moves(const Node& n) {
  return n.op->name == "reshape" || n.op->name == "transpose" || n.op->name == "slice" || is_concat(n);
}
// x + 0: x, but for the sign of zero, in any dtype.
bool adds_zero(const Node& n) {
  return n.op->name == "add" && n.inputs[0].is_node() && !n.inputs[1].is_node() && n.inputs[1].has_value() &&
         n.inputs[1].value().rank() == 0 && element_as_double(n.inputs[1].value(), 0) == 0;
}
int64_t count(const Node& n) { return num_elems(n.types[0].sizes).value(); }

class Joining : public Rewrite {
 public:
  Joining(const graph::Graph& g, const std::vector<Node*>& nodes) {
    if (std::none_of(nodes.begin(), nodes.end(), [](const Node* n) { return is_cast(*n); })) return;
    uses_ = graph::NodeMap<Uses>(nodes);
    for (const Operand& o : g.outputs)
      if (o.is_node()) uses_[o.node().get()].other = uses_[o.node().get()].is_result = true;
    // From users to what they use.
    for (size_t i = nodes.size(); i-- > 0;)
      for (const Operand& in : nodes[i]->inputs)
        if (in.is_node()) note_use(*nodes[i], *in.node());
    for (const Node* n : nodes)
      if (is_joined(*n) || is_sunk(*n)) {
        first_ = n;
        return;
      }
  }

  const Node* first() const override { return first_; }

  Operand make(Node* n, const Rebuild& rebuild) override {
    if (!first_) return {};
    if (is_joined(*n)) return rounded(n->inputs[0], n->types[0].dtype, rebuild);
    if (!is_sunk(*n)) return {};
    std::vector<Operand> narrow;
    for (const Operand& in : n->inputs)
      if (in.is_node()) narrow.push_back(rebuild.renamed(in).node()->inputs[0]);
    if (adds_zero(*n)) {
      const Operand zero = ops::like(narrow[0], 0);
      return ops::cast(ops::add(std::move(narrow[0]), zero), n->types[0].dtype);
    }
    return ops::cast(moved(*n, std::move(narrow)), n->types[0].dtype);
  }

 private:
  struct Uses {
    std::optional<DType> rounded;  // by casts to this, perhaps after other places
    int64_t elements = 0;          // which so many elements reach
    bool other = false, is_result = false;
    int count = 0;
  };

  void note_use(const Node& by, const Node& of) {
    Uses& u = uses_[&of];
    std::optional<DType> to;
    int64_t elements = 0;
    if (is_rounding(by)) {
      to = by.types[0].dtype, elements = count(by);
    } else if (moves(by) && !uses_[&by].other) {
      to = uses_[&by].rounded, elements = std::min(count(of), uses_[&by].elements);
    }
    u.other |= !to || (u.rounded && u.rounded != to) || of.types.size() != 1;
    u.rounded = to;
    u.elements += elements;
    ++u.count;
  }

  bool is_only_rounded(const Node& n, DType d) const { return !uses_[&n].other && uses_[&n].rounded == d; }

  // Whether a value is as good rounded: nothing is computed twice, and no element for nothing.
  bool can_round(const Operand& o, DType d) const {
    if (!o.is_node() || o.index() != 0) return false;
    const Node& n = *o.node();
    if (widened_from(n, d) || sunk_from(n) == d) return true;
    if (moves(n) && (!is_concat(n) || is_only_rounded(n, d)))
      return std::all_of(n.inputs.begin(), n.inputs.end(), [&](const Operand& in) { return can_round(in, d); });
    return is_only_rounded(n, d) && uses_[&n].elements >= count(n);
  }

  // Whether this moves what is widened for it alone: then it moves the narrow values, of this dtype, and whoever reads
  // it widens them.
  std::optional<DType> sunk_from(const Node& n) const {
    if (!moves(n) && !adds_zero(n)) return std::nullopt;
    std::optional<DType> narrow;
    for (const Operand& o : n.inputs) {
      if (!o.is_node() && adds_zero(n)) continue;
      if (!o.is_node() || o.index() != 0) return std::nullopt;
      const Node& in = *o.node();
      if (uses_[&in].count != 1 || uses_[&in].is_result) return std::nullopt;
      std::optional<DType> from = sunk_from(in);
      if (is_cast(in) && in.inputs[0].is_node() && holds(in.types[0].dtype, in.inputs[0].dtype()))
        from = in.inputs[0].dtype();
      if (!from || (narrow && narrow != from)) return std::nullopt;
      narrow = from;
    }
    return narrow;
  }
  bool is_sunk(const Node& n) const { return sunk_from(n).has_value(); }

  bool is_joined(const Node& n) const {
    if (!is_rounding(n) || !n.inputs[0].is_node()) return false;
    const Node& in = *n.inputs[0].node();
    const DType d = n.types[0].dtype;
    return widened_from(in, d) || sunk_from(in) == d || (moves(in) && can_round(n.inputs[0], d));
  }

  Operand rounded(const Operand& o, DType d, const Rebuild& rebuild) {
    const Node& n = *o.node();
    if (const Operand* x = widened_from(n, d)) return rebuild.renamed(*x);
    if (sunk_from(n) == d) return rebuild.renamed(o).node()->inputs[0];
    Operand& made = made_[{&n, d}];
    if (made) return made;
    if (!moves(n)) return made = ops::cast(rebuild.renamed(o), d);
    std::vector<Operand> inputs;
    for (const Operand& in : n.inputs)
      inputs.push_back(rounded(in, d, rebuild));
    return made = moved(n, std::move(inputs));
  }

  // The move of n, of values of another dtype.
  static Operand moved(const Node& n, std::vector<Operand> inputs) {
    const DType d = inputs[0].dtype();
    Ref<Node> out =
        make_ref<Node>(n.op, n.attrs, std::move(inputs), std::vector{graph::TensorType{d, n.types[0].sizes}});
    out->span = n.span;
    return Operand(std::move(out), 0);
  }

  const Node* first_ = nullptr;
  graph::NodeMap<Uses> uses_;
  std::map<std::pair<const Node*, DType>, Operand> made_;
};

}  // namespace

graph::Graph join_casts(const graph::Graph& g) {
  const std::vector<Node*> nodes = graph::live_nodes(g);
  const std::unique_ptr<Rewrite> joining[] = {std::make_unique<Joining>(g, nodes)};
  return rewritten(g, nodes, joining);
}

}  // namespace sheaf::passes
