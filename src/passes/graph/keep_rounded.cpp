#include "passes/graph/keep_rounded.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/node_map.h"
#include "graph/op_def.h"
#include "ops/apply.h"
#include "ops/subgraph.h"
#include "passes/graph/rebuild.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

constexpr int64_t kLeast = 1 << 12;  // elements: rounding fewer takes no time worth saving
constexpr size_t kNone = ~size_t{0};

bool is_rounding(const Node& n) {
  return n.op->name == "cast" && (n.types[0].dtype == DType::BF16 || n.types[0].dtype == DType::F16);
}

class Rounding {
 public:
  explicit Rounding(const graph::Graph& g)
      : g_(g), nodes_(g.nodes.empty() ? live_nodes(g) : g.nodes), weight_(nodes_, kNone), made_of_(nodes_, kNone) {
    for (size_t i = 0; i < g.inputs.size(); ++i)
      if (const auto& type = g.inputs[i]->types[0]; type.dtype == DType::F32 && is_large(type.sizes))
        weight_[g.inputs[i].get()] = i;
    for (const Node* n : nodes_)
      if (n->op->role == graph::Role::Leaf) weight_[n] = input_of(*n);
    for (const Node* n : nodes_)
      if (is_rounding(*n) && input_of(*n) != kNone) dtypes_.try_emplace(input_of(*n), n->types[0].dtype);
    for (Node* n : nodes_)
      made_of_[n] = find_made_of(*n);
    std::map<size_t, size_t> output_of;
    for (size_t o = 0; o < g.outputs.size(); ++o)
      if (const Operand& y = g.outputs[o]; y.is_node() && y.index() == 0 && y.dtype() == DType::F32)
        if (const size_t i = made_of_[y.node().get()]; i != kNone && y.node()->op->kind == graph::OpKind::Elementwise)
          output_of.try_emplace(i, o);
    for (const auto& [input, output] : output_of)
      rounded_.push_back({input, output, dtypes_.at(input)});
  }

  std::optional<KeptRounded> run() {
    if (rounded_.empty()) return std::nullopt;
    std::map<size_t, Ref<Node>> given;
    for (const RoundedInput& r : rounded_)
      given[r.input] = ops::parameter({r.dtype, g_.inputs[r.input]->types[0].sizes});
    auto is_replaced = [&](const Node& n) {
      return is_rounding(n) && given.count(input_of(n)) && n.types[0].dtype == dtypes_.at(input_of(n));
    };
    const Node* first = *std::find_if(nodes_.begin(), nodes_.end(), [&](const Node* n) { return is_replaced(*n); });
    KeptRounded out;
    out.graph = Rebuild(g_, nodes_, first).run([&](Node* n) {
      return is_replaced(*n) ? Operand(given.at(input_of(*n)), 0) : Operand();
    });
    for (const RoundedInput& r : rounded_) {
      out.graph.inputs.push_back(given.at(r.input));
      out.graph.outputs.push_back(ops::cast(out.graph.outputs[r.output], r.dtype));
    }
    out.graph.nodes.clear();
    out.rounded = std::move(rounded_);
    return out;
  }

 private:
  static bool is_large(const Sizes& sizes) {
    int64_t elements = 1;
    for (const Size& s : sizes) {
      if (!s.is_const()) return false;
      elements *= s.value();
    }
    return elements >= kLeast;
  }

  // The large input that is the node's only operand, or kNone.
  size_t input_of(const Node& n) const {
    return n.inputs.size() == 1 && n.inputs[0].is_node() ? weight_[n.inputs[0].node().get()] : kNone;
  }

  // The first rounded input that a node is computed from elementwise, or kNone.
  size_t find_made_of(const Node& n) const {
    if (const size_t i = weight_[&n]; i != kNone) return dtypes_.count(i) ? i : kNone;
    if (n.op->kind != graph::OpKind::Elementwise) return kNone;
    for (const Operand& in : n.inputs)
      if (in.is_node() && in.sizes() == n.types[0].sizes)
        if (const size_t i = made_of_[in.node().get()]; i != kNone) return i;
    return kNone;
  }

  const graph::Graph& g_;
  const std::vector<Node*> nodes_;
  graph::NodeMap<size_t> weight_;   // the large input that a node is, or kNone
  graph::NodeMap<size_t> made_of_;  // the rounded input that a node is computed from, or kNone
  std::map<size_t, DType> dtypes_;  // the narrow dtype of each rounded input
  std::vector<RoundedInput> rounded_;
};

}  // namespace

std::optional<KeptRounded> keep_rounded(const graph::Graph& g) { return Rounding(g).run(); }

}  // namespace sheaf::passes
