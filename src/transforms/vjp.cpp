#include "transforms/vjp.h"

#include <algorithm>
#include <utility>

#include "graph/graph.h"
#include "graph/node_map.h"
#include "ops/apply.h"
#include "support/error.h"

namespace sheaf::transforms {
namespace {

using graph::Attrs;
using graph::Node;
using graph::OpKind;

bool carries_gradient(DType d) { return is_inexact(d); }

// The nodes between `wrt` and `y`: reachable from y, and depending on some wrt. Iterative; ids order the graph.
class Between {
 public:
  Between(const std::vector<Operand>& y, const std::vector<Operand>& wrt) {
    uint64_t oldest = ~0ull;
    for (const Operand& w : wrt)
      oldest = std::min(oldest, w.node()->id);
    // Nothing made before the oldest wrt can depend on one.
    std::vector<Node*> reached = graph::live_nodes({{}, y, {}}, oldest);
    depends_ = graph::NodeMap<uint8_t>(reached);
    for (const Operand& w : wrt)
      depends_[w.node().get()] = 1;
    for (Node* n : reached) {
      if (std::any_of(n->inputs.begin(), n->inputs.end(), [&](const Operand& in) { return depends(in); }))
        depends_[n] = 1;
      if (depends_[n]) order_.push_back(n);
    }
  }
  const std::vector<Node*>& order() const { return order_; }  // ascending
  bool depends(const Operand& o) const { return o.is_node() && std::as_const(depends_)[o.node().get()]; }

 private:
  graph::NodeMap<uint8_t> depends_;
  std::vector<Node*> order_;
};

class Sweep : public graph::VjpCtx {
 public:
  Sweep(const Between& between, bool record) : between_(between), record_(record), adjoints_(between.order()) {}

  // Adds to the adjoint of y, as a node that uses y would.
  void seed(const Operand& y, Operand dy) { accumulate(y.node().get(), y.index(), std::move(dy)); }
  Operand adjoint(const Operand& w) const {
    const std::vector<Operand>& of = adjoints_[w.node().get()];
    return of.empty() ? Operand() : of[w.index()];
  }

  void visit(Node* n) {
    if (adjoints_[n].empty()) return;
    bool any_input = false;
    for (const Operand& in : n->inputs)
      any_input |= between_.depends(in) && carries_gradient(in.dtype());
    if (!any_input || n->op->vjp.zero) return;
    node_ = n;
    if (n->custom) return run_custom();
    if (!n->op->vjp.rule) {
      UserError e(ErrorKind::Autodiff, "no differentiation rule for operation '" + std::string(n->op->name) + "'",
                  n->span);
      e.notes.push_back(std::string(n->op->vjp.reason));
      throw e;
    }
    n->op->vjp.rule(*this);
  }

  void run_custom() {
    std::vector<Operand> xs, dys;
    for (int i = 0; i < num_inputs(); ++i)
      xs.push_back(x(i));
    for (size_t i = 0; i < node_->types.size(); ++i)
      dys.push_back(dy(static_cast<int>(i)));
    std::vector<Operand> gs = (*node_->custom)(xs, dys);
    for (size_t i = 0; i < gs.size() && i < node_->inputs.size(); ++i)
      if (gs[i]) grad(static_cast<int>(i), gs[i]);
  }

  const Attrs& attrs() const override { return node_->attrs; }
  int num_inputs() const override { return static_cast<int>(node_->inputs.size()); }
  Operand x(int i) override { return plain(node_->inputs[i]); }
  Operand y(int i) override {
    return record_ || node_->values.empty() ? Operand(Ref<Node>(node_), i) : Operand(node_->values[i]);
  }
  bool has_dy(int i) const override { return static_cast<bool>(adjoints_[node_][i]); }
  Operand dy(int i) override {
    Operand& a = adjoints_[node_][i];
    if (!a) a = ops::zeros(node_->types[i]);
    return a;
  }
  bool needs(int i) const override {
    return between_.depends(node_->inputs[i]) && carries_gradient(node_->inputs[i].dtype());
  }
  Operand take_adjoint(int i) override { return needs(i) ? take_adjoint_of(node_->inputs[i]) : Operand(); }
  void grad(int i, Operand g) override {
    if (!needs(i)) return;
    const Operand& in = node_->inputs[i];
    if (!(g.sizes() == in.sizes())) g = ops::sum_to(std::move(g), in.sizes());
    accumulate(in.node().get(), in.index(), std::move(g));
  }
  const Node& node() const override { return *node_; }
  Operand pending(int i) const override { return needs(i) ? adjoint(node_->inputs[i]) : Operand(); }
  void replace_grad(int i, Operand g) override {
    const Operand& in = node_->inputs[i];
    slot(in.node().get(), in.index()) = std::move(g);
  }
  void add_outputs(std::shared_ptr<const graph::Graph> body, const std::vector<graph::TensorType>& types) override {
    node_->subgraphs[0] = std::move(body);
    node_->types.insert(node_->types.end(), types.begin(), types.end());
    adjoints_[node_].resize(node_->types.size());
  }
  std::vector<Operand> nested(const std::vector<Operand>& y, const std::vector<Operand>& dy,
                              const std::vector<Operand>& wrt, const std::vector<Operand>& start) override {
    return sweep_graph(y, dy, wrt, start, true);
  }

  static std::vector<Operand> sweep_graph(const std::vector<Operand>& y, const std::vector<Operand>& dy,
                                          const std::vector<Operand>& wrt, const std::vector<Operand>& start,
                                          bool record) {
    Between between(y, wrt);
    Sweep sweep(between, record);
    for (size_t i = 0; i < start.size(); ++i)
      if (start[i]) sweep.seed(wrt[i], start[i]);
    for (size_t i = 0; i < y.size(); ++i)
      if (between.depends(y[i]) && carries_gradient(y[i].dtype())) sweep.seed(y[i], dy[i]);
    const auto& order = between.order();
    for (size_t i = order.size(); i-- > 0;)
      sweep.visit(order[i]);
    std::vector<Operand> out;
    for (const Operand& w : wrt)
      out.push_back(sweep.adjoint(w));
    return out;
  }

 private:
  // Without recording, rules work on plain values and build nothing.
  Operand plain(const Operand& o) const { return !record_ && o.is_node() && o.has_value() ? Operand(o.value()) : o; }

  // A reshaped array has received nothing itself as long as its users come first; what it was made from may have.
  Operand take_adjoint_of(const Operand& o) {
    if (!between_.depends(o)) return {};
    Node* n = o.node().get();
    if (std::vector<Operand>& of = adjoints_[n]; !of.empty() && of[o.index()])
      return std::exchange(of[o.index()], Operand());
    if (n->op->arrangement != graph::Arrangement::SameOrder) return {};
    Operand g = take_adjoint_of(n->inputs[0]);
    return g ? ops::reshape(std::move(g), n->types[0].sizes) : g;
  }

  void accumulate(Node* n, int index, Operand g) {
    Operand& sum = slot(n, index);
    sum = sum ? ops::add(sum, std::move(g)) : std::move(g);
  }

  Operand& slot(Node* n, int index) {
    std::vector<Operand>& of = adjoints_[n];
    if (of.empty()) of.resize(n->types.size());
    return of[index];
  }

  const Between& between_;
  bool record_;
  Node* node_ = nullptr;
  graph::NodeMap<std::vector<Operand>> adjoints_;  // by output; empty where nothing has arrived
};

}  // namespace

std::vector<Operand> vjp(const std::vector<Operand>& y, const std::vector<Operand>& dy, const std::vector<Operand>& wrt,
                         bool record) {
  return Sweep::sweep_graph(y, dy, wrt, {}, record);
}

}  // namespace sheaf::transforms
