#include "passes/graph/hoist_products.h"

#include <algorithm>
#include <utility>

#include "graph/op_def.h"
#include "ops/apply.h"
#include "ops/subgraph.h"
#include "ops/table.h"
#include "passes/graph/rebuild.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

// Limits of hoisting: the result's memory, which grows with the trip count, and the rows up to which a product is bound
// by reading the matrix.
constexpr int64_t kMostElements = 1 << 24, kMostRows = 64;
// Products of this few rows, in this many iterations, by a matrix stored by columns: each one would repack the matrix
// to row-major order, or read it at half the speed (bench_gemm skinny).
constexpr int64_t kFewRows = 16, kManyTurns = 16;

bool is_scan(const Node* n) { return n->op->nested == graph::Nested::Scan; }
bool is_view(const Node& n) { return n.op->view && n.inputs.size() == 1; }

// The operand under a chain of views that all satisfy `may`.
template <class F>
Operand under_views(Operand o, F may) {
  while (o.is_node() && is_view(*o.node()) && may(*o.node())) {
    Operand in = o.node()->inputs[0];
    o = std::move(in);
  }
  return o;
}

// For one scan. The parameters of its body are the index, carries, rows of xs and captures.
class Hoisting {
 public:
  explicit Hoisting(const Node* scan)
      : scan_(scan),
        body_(*scan->subgraphs[0]),
        nodes_(live_nodes(body_)),
        carries_(static_cast<size_t>(scan->attrs.integer("carries"))),
        xs_(static_cast<size_t>(scan->attrs.integer("xs"))),
        turns_(scan->attrs.integer("turns")) {
    for (Node* n : nodes_)
      if (is_product(*n) && (moves(*n) || reads_transposed(*n))) products_.push_back(n);
  }

  bool any() const { return !products_.empty(); }

  // Rebuilds the scan on renamed inputs.
  Ref<Node> rewritten(const Rebuild& outer) const {
    const std::vector<Operand> given = outer.renamed(scan_->inputs);
    std::vector<Operand> inputs = given, results;
    std::vector<Ref<Node>> rows, matrices;
    Rebuild inner(body_, nodes_, products_[0]);
    graph::Graph body = inner.run([&](Node* n) {
      if (std::find(products_.begin(), products_.end(), n) == products_.end()) return Operand();
      if (moves(*n)) {
        results.push_back(product(*n, given));
        rows.push_back(ops::parameter(n->types[0]));
        return Operand(rows.back(), 0);
      }
      inputs.push_back(written_out(*n, given));
      matrices.push_back(ops::parameter(n->inputs[1].type()));
      return Operand(with_inputs(*n, {inner.renamed(n->inputs[0]), Operand(matrices.back(), 0)}), 0);
    });
    const auto behind_xs = static_cast<ptrdiff_t>(carries_ + xs_);
    body.inputs.insert(body.inputs.begin() + 1 + behind_xs, rows.begin(), rows.end());
    body.inputs.insert(body.inputs.end(), matrices.begin(), matrices.end());
    inputs.insert(inputs.begin() + behind_xs, results.begin(), results.end());
    body.nodes.clear();
    graph::Attrs attrs;
    for (const auto& [key, value] : scan_->attrs.items())
      attrs.add(key, std::string_view(key) == "xs" ? graph::AttrValue(static_cast<int64_t>(xs_ + rows.size())) : value);
    Ref<Node> made = make_ref<Node>(scan_->op, std::move(attrs), std::move(inputs), scan_->types);
    made->span = scan_->span;
    made->subgraphs = {std::make_shared<const graph::Graph>(std::move(body))};
    return made;
  }

 private:
  // The index of the body's parameter that an operand is, or -1.
  ptrdiff_t parameter(const Operand& o) const {
    if (!o.is_node()) return -1;
    const auto it = std::find(body_.inputs.begin(), body_.inputs.end(), o.node());
    return it == body_.inputs.end() ? -1 : it - body_.inputs.begin();
  }
  bool is_row(ptrdiff_t p) const {
    return p > static_cast<ptrdiff_t>(carries_) && p <= static_cast<ptrdiff_t>(carries_ + xs_);
  }
  static Operand row_under(const Operand& o) {
    return under_views(o, [](const Node& v) { return v.op->arrangement == graph::Arrangement::SameOrder; });
  }
  static Operand fixed_under(const Operand& o) {
    return under_views(o, [](const Node&) { return true; });
  }

  // True for products by a loop invariant, of one pair of matrices with several rows and columns.
  bool is_product(const Node& n) const {
    if (n.op->name != "dot" || (n.types[0].dtype != DType::F32 && n.types[0].dtype != DType::F64)) return false;
    const Operand fixed = fixed_under(n.inputs[1]);
    if (fixed.is_node() && parameter(fixed) <= static_cast<ptrdiff_t>(carries_ + xs_)) return false;
    const Sizes& sizes = n.types[0].sizes;
    return std::all_of(sizes.begin(), sizes.end(), [](Size s) { return s.is_const(); }) && sizes[0].value() == 1 &&
           sizes[1].value() > 1 && sizes[2].value() > 1;
  }

  bool moves(const Node& n) const {
    const int64_t rows = n.types[0].sizes[1].value(), columns = n.types[0].sizes[2].value();
    return is_row(parameter(row_under(n.inputs[0]))) && rows <= kMostRows && turns_ > 1 &&
           turns_ * rows * columns <= kMostElements;
  }

  bool reads_transposed(const Node& n) const {
    if (turns_ < kManyTurns || n.types[0].sizes[1].value() > kFewRows) return false;
    bool permuted = false;
    under_views(n.inputs[1], [&](const Node& v) {
      permuted |= v.op->arrangement == graph::Arrangement::Permuted;
      return true;
    });
    return permuted;
  }

  // Rebuilds an operand of the body outside the scan.
  Operand outside(const Operand& o, const std::vector<Operand>& inputs) const {
    if (!o.is_node()) return o;
    const ptrdiff_t p = parameter(o);
    if (p >= 0) return inputs[static_cast<size_t>(p - 1)];
    return Operand(with_inputs(*o.node(), {outside(o.node()->inputs[0], inputs)}), 0);
  }

  // Materializes the matrix of a product in row-major order.
  Operand written_out(const Node& n, const std::vector<Operand>& inputs) const {
    return graph::apply(ops::op("stop_gradient"), {outside(n.inputs[1], inputs)});
  }

  // The product for all iterations: [iterations, 1, rows, columns].
  Operand product(const Node& n, const std::vector<Operand>& inputs) const {
    const Size turns = turns_, rows = n.types[0].sizes[1], columns = n.types[0].sizes[2];
    const Operand x = outside(row_under(n.inputs[0]), inputs), matrix = outside(n.inputs[1], inputs);
    Ref<Node> all = make_ref<Node>(n.op, n.attrs,
                                   std::vector{ops::reshape(x, {Size(1), turns * rows, n.inputs[0].size(2)}), matrix},
                                   std::vector{graph::TensorType{n.types[0].dtype, {Size(1), turns * rows, columns}}});
    all->span = n.span;
    return ops::reshape(Operand(std::move(all), 0), {turns, Size(1), rows, columns});
  }

  const Node* scan_;
  const graph::Graph& body_;
  std::vector<Node*> nodes_, products_;
  size_t carries_, xs_;
  int64_t turns_;
};

}  // namespace

graph::Graph hoist_products(const graph::Graph& g) {
  const std::vector<Node*> nodes = live_nodes(g);
  graph::NodeMap<std::shared_ptr<const Hoisting>> found(nodes);
  const Node* first = nullptr;
  for (Node* n : nodes)
    if (is_scan(n))
      if (auto h = std::make_shared<const Hoisting>(n); h->any()) {
        found[n] = std::move(h);
        if (!first) first = n;
      }
  if (!first) return g;
  Rebuild rebuild(g, nodes, first);
  return rebuild.run([&](Node* n) {
    const auto& h = found[n];
    return h ? Operand(h->rewritten(rebuild), 0) : Operand();
  });
}

}  // namespace sheaf::passes
