// A bias is added to all gates of a recurrent cell at once, and each gate then has a function of its own: the sums would be written and read again for nothing.
#include "passes/graph/sink_slices.h"

#include <algorithm>

#include "graph/op_def.h"
#include "ops/emit.h"
#include "passes/graph/rebuild.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;
using graph::OpKind;

bool is_slice(const Node* n) { return n->op->name == "slice"; }
bool is_elementwise(const Node* n) { return n->op->kind == OpKind::Elementwise && n->types.size() == 1; }
int64_t count(const Node* n) { return num_elems(n->types[0].sizes).value(); }

class Sinking {
 public:
  explicit Sinking(const graph::Graph& g) : g_(g), nodes_(live_nodes(g)), users_(nodes_), sinks_(nodes_) {}

  graph::Graph run() {
    if (std::none_of(nodes_.begin(), nodes_.end(), [](const Node* n) { return is_slice(n) && n->inputs[0].is_node() && is_elementwise(n->inputs[0].node().get()); })) return g_;
    list_users();
    // From users to what they use: a chain of elementwise nodes sinks as a whole.
    const Node* first = nullptr;
    for (size_t i = nodes_.size(); i-- > 0;)
      if (sinks(nodes_[i])) sinks_[nodes_[i]] = 1, first = nodes_[i];
    if (!first) return g_;
    Rebuild rebuild(g_, nodes_, first);
    return rebuild.run([&](Node* n) { return is_slice(n) && is_sinking(n->inputs[0]) ? part(rebuild, n->inputs[0], *n) : Operand(); });
  }

 private:
  void list_users() {
    for (Node* n : nodes_)
      for (const Operand& in : n->inputs)
        if (in.is_node() && (is_slice(in.node().get()) || is_elementwise(in.node().get()))) users_[in.node().get()].push_back(n);
    for (const Operand& o : g_.outputs)
      if (o.is_node()) users_[o.node().get()].push_back(nullptr);
  }

  bool is_sinking(const Operand& o) const { return o.is_node() && sinks_[o.node().get()]; }

  bool sinks(const Node* n) const {
    if (!is_elementwise(n) || users_[n].empty()) return false;
    int64_t read = 0;
    for (const Node* u : users_[n]) {
      if (!u) return false;
      if (is_slice(u)) {
        if (!is_read_by_loops(u)) return false;
        read += count(u);
      } else if (!sinks_[u] || users_[n].size() > 1 || !(u->types[0].sizes == n->types[0].sizes)) {
        return false;
      }
    }
    return read <= count(n);
  }

  bool is_read_by_loops(const Node* slice) const {
    return std::all_of(users_[slice].begin(), users_[slice].end(), [](const Node* u) { return u && (u->op->kind == OpKind::Elementwise || u->op->kind == OpKind::Reduce); });
  }

  // The part of `o` that `slice` reads of an array of which `o` is an operand, or which it is.
  Operand part(const Rebuild& rebuild, const Operand& o, const Node& slice) const {
    if (is_sinking(o)) {
      const Node& n = *o.node();
      std::vector<Operand> inputs;
      for (const Operand& in : n.inputs) inputs.push_back(part(rebuild, in, slice));
      Ref<Node> made = make_ref<Node>(n.op, n.attrs, std::move(inputs), std::vector{graph::TensorType{n.types[0].dtype, slice.types[0].sizes}});
      made->span = n.span;
      return Operand(std::move(made), 0);
    }
    // Axes of one element are stretched, and there may be fewer of them.
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

  const graph::Graph& g_;
  std::vector<Node*> nodes_;
  graph::NodeMap<std::vector<Node*>> users_;  // of slices and elementwise nodes; nullptr: an output
  graph::NodeMap<char> sinks_;
};

}  // namespace

graph::Graph sink_slices(const graph::Graph& g) { return Sinking(g).run(); }

}  // namespace sheaf::passes
