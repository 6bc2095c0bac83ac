#include "ops/subgraph.h"

#include <map>
#include <unordered_map>

#include "graph/engine.h"
#include "ops/table.h"

namespace sheaf::ops {

Ref<Node> parameter(const graph::TensorType& type) {
  return make_ref<Node>(&op("input"), graph::Attrs{}, std::vector<Operand>{}, std::vector<graph::TensorType>{type});
}

std::vector<Ref<Node>> parameters(const std::vector<graph::TensorType>& types) {
  std::vector<Ref<Node>> out;
  for (const auto& t : types)
    out.push_back(parameter(t));
  return out;
}

std::vector<Operand> operands(const std::vector<Ref<Node>>& nodes) {
  std::vector<Operand> out;
  for (const auto& n : nodes)
    out.emplace_back(n, 0);
  return out;
}

Operand custom(std::vector<Operand> inputs, std::shared_ptr<const graph::CustomVjp> rule, const Span& span) {
  Operand y = inputs[0];
  auto node =
      make_ref<Node>(&op("custom"), graph::Attrs{}, std::move(inputs), std::vector<graph::TensorType>{y.type()});
  if (y.has_value()) node->values = {y.value()};
  node->span = span;
  node->custom = std::move(rule);
  return Operand(std::move(node), 0);
}

namespace {

const graph::OpDef& input_op() {
  static const graph::OpDef& d = op("input");
  return d;
}

class Closing {
 public:
  Closing(const Piece& piece, std::vector<Operand>& captures)
      : piece_(piece), captures_(captures), graph_(std::make_shared<Graph>()) {
    graph_->inputs = piece.inputs;
    for (const auto& n : piece.inputs)
      copies_[n.get()] = n;
    for (size_t i = 0; i < captures.size(); ++i)
      add_capture(captures[i]);
  }

  GraphPtr run() {
    std::map<uint64_t, Node*> inside;
    std::vector<Node*> todo;
    for (const Operand& o : piece_.outputs)
      if (o.is_node()) todo.push_back(o.node().get());
    for (const auto& n : piece_.effects)
      todo.push_back(n.get());
    while (!todo.empty()) {
      Node* n = todo.back();
      todo.pop_back();
      if (copies_.count(n) || !is_inside(n) || !inside.emplace(n->id, n).second) continue;
      for (const Operand& in : n->inputs)
        if (in.is_node()) todo.push_back(in.node().get());
    }
    for (auto& [id, n] : inside) {
      std::vector<Operand> inputs;
      for (const Operand& in : n->inputs)
        inputs.push_back(renamed(in));
      copies_[n] = with_inputs(*n, std::move(inputs));
    }
    for (const Operand& o : piece_.outputs)
      graph_->outputs.push_back(renamed(o));
    for (const auto& n : piece_.effects)
      graph_->effects.push_back(copies_.at(n.get()));
    return graph_;
  }

 private:
  bool is_inside(const Node* n) const {
    if (n->op == &input_op()) return false;
    return n->id >= piece_.since || (piece_.again && piece_.again(n));
  }

  Operand renamed(const Operand& o) {
    if (!o.is_node()) return o;
    if (auto it = copies_.find(o.node().get()); it != copies_.end()) return Operand(it->second, o.index());
    auto it = captured_.find({o.node().get(), o.index()});
    if (it != captured_.end()) return Operand(it->second, 0);
    captures_.push_back(o);
    return Operand(add_capture(o), 0);
  }

  Ref<Node> add_capture(const Operand& o) {
    graph_->inputs.push_back(parameter(o.type()));
    captured_[{o.node().get(), o.index()}] = graph_->inputs.back();
    return graph_->inputs.back();
  }

  const Piece& piece_;
  std::vector<Operand>& captures_;
  std::shared_ptr<Graph> graph_;
  std::unordered_map<const Node*, Ref<Node>> copies_;
  std::map<std::pair<const Node*, int>, Ref<Node>> captured_;
};

GraphPtr without_effects(const GraphPtr& g);

Ref<Node> without_effects(const Node& n, std::vector<Operand> inputs) {
  Ref<Node> copy = with_inputs(n, std::move(inputs));
  for (GraphPtr& s : copy->subgraphs)
    s = without_effects(s);
  return copy;
}

// A control node that contains effects is an effect itself, so a graph without effects is pure at every depth.
GraphPtr without_effects(const GraphPtr& g) {
  if (g->effects.empty()) return g;
  auto out = std::make_shared<Graph>();
  out->inputs = g->inputs;
  std::unordered_map<const Node*, Ref<Node>> copies;
  for (const auto& n : g->inputs)
    copies[n.get()] = n;
  auto renamed = [&](const Operand& o) { return o.is_node() ? Operand(copies.at(o.node().get()), o.index()) : o; };
  for (Node* n : graph::live_nodes({g->inputs, g->outputs, {}})) {
    if (copies.count(n)) continue;
    std::vector<Operand> inputs;
    for (const Operand& in : n->inputs)
      inputs.push_back(renamed(in));
    copies[n] = without_effects(*n, std::move(inputs));
  }
  for (const Operand& o : g->outputs)
    out->outputs.push_back(renamed(o));
  return out;
}

}  // namespace

GraphPtr close(const Piece& piece, std::vector<Operand>& captures) { return Closing(piece, captures).run(); }

GraphPtr with_captures(const GraphPtr& g, size_t num_inputs, const std::vector<Operand>& captures) {
  if (g->inputs.size() == num_inputs + captures.size()) return g;
  auto out = std::make_shared<Graph>(*g);
  for (size_t i = g->inputs.size() - num_inputs; i < captures.size(); ++i)
    out->inputs.push_back(parameter(captures[i].type()));
  return out;
}

std::vector<Operand> replay(const Graph& g, const std::vector<Operand>& inputs) {
  std::unordered_map<const Node*, std::vector<Operand>> done;
  for (size_t i = 0; i < g.inputs.size(); ++i)
    done[g.inputs[i].get()] = {inputs[i]};
  auto renamed = [&](const Operand& o) { return o.is_node() ? done.at(o.node().get())[o.index()] : o; };
  for (Node* n : graph::live_nodes({g.inputs, g.outputs, {}})) {
    if (done.count(n)) continue;
    std::vector<Operand> in;
    for (const Operand& o : n->inputs)
      in.push_back(renamed(o));
    if (n->custom)
      done[n] = {custom(std::move(in), n->custom, n->span)};
    else if (n->op->kind == graph::OpKind::Control)
      done[n] = graph::engine().apply_control(without_effects(*n, std::move(in)));
    else
      done[n] = graph::apply_all(*n->op, std::move(in), n->attrs);
  }
  std::vector<Operand> out;
  for (const Operand& o : g.outputs)
    out.push_back(renamed(o));
  return out;
}

}  // namespace sheaf::ops
