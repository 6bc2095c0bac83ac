// As many turns as a test allows. The reverse runs the loop once more, keeps the carries of every turn as it goes, and
// walks back through them; each turn is computed again from its carries.
#include "graph/engine.h"
#include "ops/apply.h"
#include "ops/loops.h"
#include "support/error.h"

namespace sheaf::ops {

using graph::BatchCtx;
using graph::kAnyType;
using graph::Nested;
using graph::OpKind;
using graph::TensorType;
using graph::VjpCtx;

namespace {

std::vector<TensorType> types_of(const std::vector<Operand>& operands) {
  std::vector<TensorType> types;
  for (const Operand& o : operands)
    types.push_back(o.type());
  return types;
}

std::vector<Operand> inputs_of(const std::vector<Operand>& carries, const std::vector<Operand>& captures) {
  std::vector<Operand> in = carries;
  in.insert(in.end(), captures.begin(), captures.end());
  return in;
}

bool is_set(const Operand& predicate) { return element_as_int(predicate.value(), 0) != 0; }

// Inputs of while_grad: the carries, captures and adjoints, in this order; "carries" and "captures" count the first
// two. Its third sub-graph is one turn backward: (carries, captures, adjoints) -> adjoints. The adjoints are those of
// the float carries and of the captures that want one.
void vjp_while(VjpCtx& c) {
  const Node& n = c.node();
  auto num_carries = static_cast<size_t>(n.attrs.integer("carries"));
  std::vector<size_t> carried, wanted;
  std::vector<Operand> adjoints;
  for (size_t i = 0; i < num_carries; ++i)
    if (is_inexact(n.types[i].dtype)) {
      carried.push_back(i);
      adjoints.push_back(c.dy(static_cast<int>(i)));
    }
  for (size_t i = num_carries; i < n.inputs.size(); ++i)
    if (c.needs(static_cast<int>(i))) {
      wanted.push_back(i);
      Operand p = is_repeated(n, i) ? Operand() : c.pending(static_cast<int>(i));
      adjoints.push_back(p ? p : zeros(n.inputs[i].type()));
    }
  Piece piece;
  piece.since = graph::next_node_id();
  for (const Operand& in : n.inputs)
    piece.inputs.push_back(parameter(in.type()));
  for (const Operand& a : adjoints)
    piece.inputs.push_back(parameter(a.type()));
  std::vector<Operand> in = operands(piece.inputs), y, dy, wrt, start;
  std::vector<Operand> out =
      replay(*n.subgraphs[1], {in.begin(), in.begin() + static_cast<ptrdiff_t>(n.inputs.size())});
  for (size_t k = 0; k < carried.size(); ++k) {
    y.push_back(out[carried[k]]);
    dy.push_back(in[n.inputs.size() + k]);
    wrt.push_back(in[carried[k]]);
    start.emplace_back();
  }
  for (size_t k = 0; k < wanted.size(); ++k) {
    wrt.push_back(in[wanted[k]]);
    start.push_back(in[n.inputs.size() + carried.size() + k]);
  }
  piece.outputs = c.nested(y, dy, wrt, start);
  for (size_t k = 0; k < piece.outputs.size(); ++k)
    if (!piece.outputs[k]) piece.outputs[k] = zeros(wrt[k].type());
  std::vector<Operand> captures;
  GraphPtr turn = close(piece, captures);
  INVARIANT(captures.empty(), "a turn of a while uses more than its inputs");
  std::vector<Operand> results = apply_control("while_grad", inputs_of(n.inputs, adjoints), n.attrs,
                                               {n.subgraphs[0], n.subgraphs[1], turn}, types_of(adjoints));
  for (size_t k = 0; k < carried.size(); ++k)
    if (c.needs(static_cast<int>(carried[k]))) c.grad(static_cast<int>(carried[k]), results[k]);
  for (size_t k = 0; k < wanted.size(); ++k) {
    const Operand& g = results[carried.size() + k];
    if (is_repeated(n, wanted[k]))
      c.grad(static_cast<int>(wanted[k]), g);
    else
      c.replace_grad(static_cast<int>(wanted[k]), g);
  }
}

std::vector<Operand> batch_while(BatchCtx& c) {
  auto num_carries = static_cast<size_t>(c.attrs.integer("carries"));
  std::vector<bool> batched = c.batched;
  for (;;) {
    std::vector<Operand> inputs = c.inputs;
    for (size_t i = 0; i < num_carries; ++i) {
      Sizes s = inputs[i].sizes();
      s.insert(s.begin(), c.batch);
      if (batched[i] && !c.batched[i]) inputs[i] = broadcast_to(inputs[i], s);
    }
    std::vector<Operand> captures;
    std::vector<GraphPtr> graphs;
    bool grown = false;
    for (size_t k = 0; k < 2 && !grown; ++k) {
      Piece p;
      p.since = graph::next_node_id();
      p.inputs = parameters(types_of(inputs));
      std::vector<bool> result;
      p.outputs = c.nested(*c.node->subgraphs[k], operands(p.inputs), batched, c.batch, result);
      if (k == 0 && result[0])
        throw runtime_error("a while whose number of turns differs from example to example runs once per example");
      for (size_t i = 0; k == 1 && i < num_carries; ++i) {
        if (result[i] && !batched[i]) batched[i] = grown = true;
        if (!result[i] && batched[i]) p.outputs[i] = broadcast_to(p.outputs[i], inputs[i].sizes());
      }
      if (!grown) graphs.push_back(close(p, captures));
    }
    if (grown) continue;
    for (GraphPtr& g : graphs)
      g = with_captures(g, inputs.size(), captures);
    std::vector<TensorType> types = types_of({inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(num_carries)});
    std::vector<Operand> out =
        apply_control("while", inputs_of(inputs, captures), c.attrs, std::move(graphs), std::move(types));
    for (size_t i = 0; i < out.size(); ++i) {
      Sizes s = out[i].sizes();
      s.insert(s.begin(), c.batch);
      if (!batched[i]) out[i] = broadcast_to(out[i], s);
    }
    return out;
  }
}

std::vector<Operand> unroll_while(const Node& n) {
  auto num_carries = n.attrs.integer("carries");
  std::vector<Operand> carries(n.inputs.begin(), n.inputs.begin() + num_carries),
      captures(n.inputs.begin() + num_carries, n.inputs.end());
  while (is_set(replay(*n.subgraphs[0], inputs_of(carries, captures))[0]))
    carries = replay(*n.subgraphs[1], inputs_of(carries, captures));
  return carries;
}

std::vector<Operand> unroll_while_grad(const Node& n) {
  auto num_inputs = static_cast<ptrdiff_t>(n.subgraphs[0]->inputs.size());
  auto num_carries = n.attrs.integer("carries");
  std::vector<Operand> carries(n.inputs.begin(), n.inputs.begin() + num_carries);
  std::vector<Operand> captures(n.inputs.begin() + num_carries, n.inputs.begin() + num_inputs),
      adjoints(n.inputs.begin() + num_inputs, n.inputs.end());
  std::vector<std::vector<Operand>> tape;
  while (is_set(replay(*n.subgraphs[0], inputs_of(carries, captures))[0])) {
    tape.push_back(inputs_of(carries, captures));
    carries = replay(*n.subgraphs[1], tape.back());
  }
  for (size_t t = tape.size(); t-- > 0;)
    adjoints = replay(*n.subgraphs[2], inputs_of(tape[t], adjoints));
  return adjoints;
}

const OpDef kOps[] = {
    {.name = "while",
     .kind = OpKind::Control,
     .doc = "A sub-graph run as long as another one gives true.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::differentiable(vjp_while),
     .batch = batch_while,
     .unroll = unroll_while,
     .nested = Nested::While},
    {.name = "while_grad",
     .kind = OpKind::Control,
     .doc = "The reverse of while.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::not_differentiable("higher derivatives of a loop whose turns depend on data are taken turn by turn"),
     .batch = graph::once_per_example("the number of turns may differ"),
     .unroll = unroll_while_grad,
     .nested = Nested::While},
};

}  // namespace

std::vector<Operand> while_loop(GraphPtr test, GraphPtr body, std::vector<Operand> carries,
                                std::vector<Operand> captures) {
  std::vector<TensorType> types = types_of(carries);
  graph::Attrs attrs{{"carries", static_cast<int64_t>(carries.size())}};
  return apply_control("while", inputs_of(carries, captures), std::move(attrs), {std::move(test), std::move(body)},
                       std::move(types));
}

std::span<const OpDef> while_ops() { return kOps; }

}  // namespace sheaf::ops
