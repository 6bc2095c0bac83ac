#include "ops/control.h"

#include "graph/engine.h"
#include "ops/apply.h"

namespace sheaf::ops {

using graph::Attrs;
using graph::BatchCtx;
using graph::kAnyType;
using graph::Nested;
using graph::OpKind;
using graph::TensorType;
using graph::VjpCtx;

Ref<Node> host_call(std::vector<Operand> inputs, graph::HostCall call) {
  auto node = make_ref<Node>(&op("host_call"), Attrs{}, std::move(inputs), std::vector<TensorType>{{DType::Bool, {}}});
  node->host = std::make_shared<const graph::HostCall>(std::move(call));
  return node;
}

std::vector<Operand> apply_control(std::string_view name, std::vector<Operand> inputs, Attrs attrs,
                                   std::vector<GraphPtr> subgraphs, std::vector<TensorType> types) {
  auto node = make_ref<Node>(&op(name), std::move(attrs), std::move(inputs), std::move(types));
  node->subgraphs = std::move(subgraphs);
  return graph::engine().apply_control(std::move(node));
}

std::vector<TensorType> output_types(const Graph& g) {
  std::vector<TensorType> types;
  for (const Operand& o : g.outputs)
    types.push_back(o.type());
  return types;
}

std::vector<Operand> cond(Operand predicate, GraphPtr yes, GraphPtr no, std::vector<Operand> captures) {
  std::vector<TensorType> types = output_types(*yes);
  captures.insert(captures.begin(), std::move(predicate));
  return apply_control("cond", std::move(captures), {}, {std::move(yes), std::move(no)}, std::move(types));
}

std::vector<Operand> checkpoint(GraphPtr body, std::vector<Operand> captures) {
  std::vector<TensorType> types = output_types(*body);
  return apply_control("checkpoint", std::move(captures), {}, {std::move(body)}, std::move(types));
}

bool is_repeated(const Node& n, size_t input) {
  for (size_t i = 0; i < input; ++i)
    if (n.inputs[i].is_node() && n.inputs[i].node() == n.inputs[input].node() &&
        n.inputs[i].index() == n.inputs[input].index())
      return true;
  return false;
}

namespace {

// The reverse rule of a node whose sub-graphs all take its inputs from `first` on: a node of the same sort whose
// sub-graphs run the forward computation once more and then its reverse.
void vjp_by_replay(VjpCtx& c, size_t first) {
  const Node& n = c.node();
  std::vector<Operand> wrt_outside, start;
  std::vector<size_t> wanted;
  for (size_t i = first; i < n.inputs.size(); ++i) {
    if (!c.needs(static_cast<int>(i))) continue;
    wanted.push_back(i);
    wrt_outside.push_back(n.inputs[i]);
    start.push_back(is_repeated(n, i) ? Operand() : c.pending(static_cast<int>(i)));
  }
  std::vector<size_t> flowing;
  std::vector<Operand> dy;
  for (size_t k = 0; k < n.types.size(); ++k)
    if (is_inexact(n.types[k].dtype) && c.has_dy(static_cast<int>(k))) {
      flowing.push_back(k);
      dy.push_back(c.dy(static_cast<int>(k)));
    }
  std::vector<Operand> captures;
  std::vector<GraphPtr> graphs;
  for (const GraphPtr& g : n.subgraphs) {
    Piece piece;
    piece.since = graph::next_node_id();
    std::vector<Operand> inputs(n.inputs.begin() + static_cast<ptrdiff_t>(first), n.inputs.end());
    for (size_t i : wanted) {
      piece.inputs.push_back(parameter(n.inputs[i].type()));
      inputs[i - first] = Operand(piece.inputs.back(), 0);
    }
    std::vector<Operand> all = replay(*g, inputs), y;
    for (size_t k : flowing)
      y.push_back(all[k]);
    piece.outputs = c.nested(y, dy, operands(piece.inputs), start);
    for (size_t i = 0; i < piece.outputs.size(); ++i)
      if (!piece.outputs[i]) piece.outputs[i] = zeros(piece.inputs[i]->types[0]);
    graphs.push_back(close(piece, captures));
  }
  for (GraphPtr& g : graphs)
    g = with_captures(g, wanted.size(), captures);
  std::vector<Operand> inputs(n.inputs.begin(), n.inputs.begin() + static_cast<ptrdiff_t>(first));
  inputs.insert(inputs.end(), wrt_outside.begin(), wrt_outside.end());
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<TensorType> types = output_types(*graphs[0]);
  std::vector<Operand> grads =
      apply_control(n.op->name, std::move(inputs), n.attrs, std::move(graphs), std::move(types));
  for (size_t i = 0; i < wanted.size(); ++i)
    if (is_repeated(n, wanted[i]))
      c.grad(static_cast<int>(wanted[i]), grads[i]);
    else
      c.replace_grad(static_cast<int>(wanted[i]), grads[i]);
}

Operand with_batch(const Operand& x, bool batched, Size batch) {
  if (batched) return x;
  Sizes s = x.sizes();
  s.insert(s.begin(), batch);
  return broadcast_to(x, s);
}

// The sub-graphs for a whole batch, given which of the inputs after the first `first` are batched; every output is.
std::vector<Operand> batch_subgraphs(BatchCtx& c, size_t first) {
  std::vector<GraphPtr> graphs;
  std::vector<Operand> captures;
  for (const GraphPtr& g : c.node->subgraphs) {
    Piece piece;
    piece.since = graph::next_node_id();
    for (size_t i = first; i < c.inputs.size(); ++i)
      piece.inputs.push_back(parameter(c.inputs[i].type()));
    std::vector<bool> batched(c.batched.begin() + static_cast<ptrdiff_t>(first), c.batched.end()), out_batched;
    piece.outputs = c.nested(*g, operands(piece.inputs), batched, c.batch, out_batched);
    for (size_t k = 0; k < piece.outputs.size(); ++k)
      piece.outputs[k] = with_batch(piece.outputs[k], out_batched[k], c.batch);
    graphs.push_back(close(piece, captures));
  }
  for (GraphPtr& g : graphs)
    g = with_captures(g, c.inputs.size() - first, captures);
  std::vector<Operand> inputs = c.inputs;
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<TensorType> types = output_types(*graphs[0]);
  return apply_control(c.op.name, std::move(inputs), c.attrs, std::move(graphs), std::move(types));
}

std::vector<Operand> batch_cond(BatchCtx& c) {
  if (!c.batched[0]) return batch_subgraphs(c, 1);
  // Each example decides for itself: both branches, then a choice.
  std::vector<Operand> inputs(c.inputs.begin() + 1, c.inputs.end()), out;
  std::vector<bool> batched(c.batched.begin() + 1, c.batched.end()), yes_batched, no_batched;
  std::vector<Operand> yes = c.nested(*c.node->subgraphs[0], inputs, batched, c.batch, yes_batched);
  std::vector<Operand> no = c.nested(*c.node->subgraphs[1], inputs, batched, c.batch, no_batched);
  for (size_t k = 0; k < yes.size(); ++k) {
    Operand a = with_batch(yes[k], yes_batched[k], c.batch), b = with_batch(no[k], no_batched[k], c.batch);
    Sizes s(static_cast<size_t>(a.rank()), Size(1));
    s[0] = c.batch;
    out.push_back(where(reshape(c.inputs[0], s), a, b));
  }
  return out;
}

bool is_set(const Operand& predicate) { return element_as_int(predicate.value(), 0) != 0; }

std::vector<Operand> unroll_cond(const Node& n) {
  return replay(*n.subgraphs[is_set(n.inputs[0]) ? 0 : 1], {n.inputs.begin() + 1, n.inputs.end()});
}

const OpDef kOps[] = {
    {.name = "host_call",
     .kind = OpKind::Host,
     .doc = "Calls back into the program's world: print, guard.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::zero_derivative("nothing comes out of it"),
     .batch = graph::once_per_example("effects happen one after the other"),
     .nested = Nested::HostCall},
    {.name = "cond",
     .kind = OpKind::Control,
     .doc = "One of two sub-graphs, by a truth value; only that one runs.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::differentiable([](VjpCtx& c) { vjp_by_replay(c, 1); }),
     .batch = batch_cond,
     .unroll = unroll_cond,
     .nested = Nested::Branch},
    {.name = "checkpoint",
     .kind = OpKind::Control,
     .doc = "A sub-graph whose inner values are computed again in the backward pass.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::differentiable([](VjpCtx& c) { vjp_by_replay(c, 0); }),
     .batch = [](BatchCtx& c) { return batch_subgraphs(c, 0); },
     .unroll = [](const Node& n) { return replay(*n.subgraphs[0], n.inputs); },
     .nested = Nested::Call},
};

}  // namespace

std::span<const OpDef> control_ops() { return kOps; }

}  // namespace sheaf::ops
