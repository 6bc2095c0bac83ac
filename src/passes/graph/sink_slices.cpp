// A recurrent cell adds the bias to all gates at once, then applies another function to each gate: without this pass
// the sums would be stored and loaded again for nothing.
#include "passes/graph/sink_slices.h"

#include <algorithm>

#include "graph/op_def.h"
#include "ops/apply.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;
using graph::OpKind;

bool is_slice(const Node* n) { return n->op->name == "slice"; }
bool is_elementwise(const Node* n) { return n->op->kind == OpKind::Elementwise && n->types.size() == 1; }
int64_t count(const Node* n) { return num_elems(n->types[0].sizes).value(); }

class Sinking : public Rewrite {
 public:
  Sinking(const graph::Graph& g, const std::vector<Node*>& nodes) {
    if (std::none_of(nodes.begin(), nodes.end(), [](const Node* n) {
          return is_slice(n) && n->inputs[0].is_node() && is_elementwise(n->inputs[0].node().get());
        }))
      return;
    uses_ = graph::NodeMap<Uses>(nodes);
    for (const Operand& o : g.outputs)
      if (o.is_node()) uses_[o.node().get()].other = true;
    // Visits users before producers, so that a chain of elementwise nodes sinks as a whole.
    for (size_t i = nodes.size(); i-- > 0;) {
      Node* n = nodes[i];
      if ((uses_[n].sinks = sinks(n))) first_ = n;
      for (const Operand& in : n->inputs)
        if (in.is_node()) note_use(*in.node(), *n);
    }
  }

  const Node* first() const override { return first_; }
  Operand make(Node* n, const Rebuild& rebuild) override {
    return first_ && is_slice(n) && is_sinking(n->inputs[0]) ? part(rebuild, n->inputs[0], *n) : Operand();
  }

 private:
  struct Uses {
    int64_t read = 0;             // elements that fused loops read, through `slices` slices
    int slices = 0, sinking = 0;  // `sinking`: users of the same sizes that sink themselves
    bool other = false;           // has another kind of user; of a slice: one that is no fused loop
    bool sinks = false;
  };

  bool is_sinking(const Operand& o) const { return o.is_node() && uses_[o.node().get()].sinks; }

  bool sinks(const Node* n) const {
    const Uses& u = uses_[n];
    if (!is_elementwise(n) || u.other) return false;
    return u.sinking ? u.sinking == 1 && u.slices == 0 : u.slices > 0 && u.read <= count(n);
  }

  void note_use(const Node& of, const Node& by) {
    Uses& u = uses_[&of];
    if (is_slice(&of)) {
      u.other |= by.op->kind != OpKind::Elementwise && by.op->kind != OpKind::Reduce;
    } else if (is_slice(&by) && !uses_[&by].other) {
      u.read += count(&by);
      ++u.slices;
    } else if (uses_[&by].sinks && by.types[0].sizes == of.types[0].sizes) {
      ++u.sinking;
    } else {
      u.other = true;
    }
  }

  // Builds the slice of `o`. `o` is the sliced array of `slice`, or an operand of it that broadcasts to its sizes.
  Operand part(const Rebuild& rebuild, const Operand& o, const Node& slice) const {
    if (is_sinking(o)) {
      const Node& n = *o.node();
      std::vector<Operand> inputs;
      for (const Operand& in : n.inputs)
        inputs.push_back(part(rebuild, in, slice));
      Ref<Node> made = make_ref<Node>(n.op, n.attrs, std::move(inputs),
                                      std::vector{graph::TensorType{n.types[0].dtype, slice.types[0].sizes}});
      made->span = n.span;
      return Operand(std::move(made), 0);
    }
    // `o` may have broadcast axes (of size 1), and fewer axes than the sliced array.
    const Sizes &whole = slice.inputs[0].sizes(), &own = o.sizes();
    Sizes starts, sizes, steps;
    bool cuts = false;
    for (size_t a = 0; a < own.size(); ++a) {
      size_t at = whole.size() - own.size() + a;
      bool stretched = !(own[a] == whole[at]);
      starts.push_back(stretched ? Size(0) : slice.attrs.sizes("starts")[at]);
      sizes.push_back(stretched ? own[a] : slice.attrs.sizes("sizes")[at]);
      steps.push_back(stretched ? Size(1) : slice.attrs.sizes("steps")[at]);
      cuts |= !(sizes[a] == own[a] && steps[a] == Size(1));
    }
    Operand in = rebuild.renamed(o);
    return cuts ? ops::slice(std::move(in), std::move(starts), std::move(sizes), std::move(steps)) : in;
  }

  const Node* first_ = nullptr;
  graph::NodeMap<Uses> uses_;
};

}  // namespace

std::unique_ptr<Rewrite> sink_slices(const graph::Graph& g, const std::vector<Node*>& nodes) {
  return std::make_unique<Sinking>(g, nodes);
}

}  // namespace sheaf::passes
