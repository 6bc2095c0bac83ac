// Loops with a known trip count over the rows of arrays, and conversion between an array and its rows.
#include "ops/scan.h"

#include <algorithm>

namespace sheaf::ops {

using graph::BatchCtx;
using graph::kAnyType;
using graph::Nested;
using graph::OpKind;
using graph::TensorType;
using graph::VjpCtx;

namespace {

Operand swap_first_two(const Operand& x) {
  std::vector<int> perm;
  for (int i = 0; i < x.rank(); ++i)
    perm.push_back(i < 2 ? 1 - i : i);
  return transpose(x, perm);
}

Operand with_batch(const Operand& x, bool batched, Size batch) {
  return batched ? x : broadcast_to(x, stacked_type(x.type(), batch).sizes);
}

std::vector<Operand> batch_scan(BatchCtx& c) {
  Scan s = scan_of(*c.node);
  size_t num_carries = s.carries.size(), num_xs = s.xs.size();
  std::vector<bool> batched = c.batched;
  for (;;) {
    Scan out = s;
    for (size_t i = 0; i < num_carries; ++i)
      out.carries[i] = batched[i] ? with_batch(c.inputs[i], c.batched[i], c.batch) : c.inputs[i];
    for (size_t i = 0; i < num_xs; ++i)
      out.xs[i] = batched[num_carries + i] ? swap_first_two(c.inputs[num_carries + i]) : c.inputs[num_carries + i];
    out.captures = part(c.inputs, num_carries + num_xs, s.captures.size());
    Piece p;
    p.since = graph::next_node_id();
    p.inputs.push_back(parameter({DType::I64, {}}));
    for (const Operand& o : out.carries)
      p.inputs.push_back(parameter(o.type()));
    for (const Operand& o : out.xs)
      p.inputs.push_back(parameter(row_type(o.type())));
    for (const Operand& o : out.captures)
      p.inputs.push_back(parameter(o.type()));
    std::vector<bool> in{false}, result;
    append(in, batched);
    p.outputs = c.nested(*s.body, operands(p.inputs), in, c.batch, result);
    bool grown = false;
    for (size_t i = 0; i < num_carries; ++i) {
      if (result[i] && !batched[i]) batched[i] = grown = true;
      p.outputs[i] = with_batch(p.outputs[i], result[i] || !batched[i], c.batch);
    }
    if (grown) continue;
    std::vector<Operand> captures;
    out.body = close(p, captures);
    append(out.captures, captures);
    std::vector<Operand> all = scan(std::move(out));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = i < num_carries ? with_batch(all[i], batched[i], c.batch)
               : result[i]     ? swap_first_two(all[i])
                               : with_batch(all[i], false, c.batch);
    return all;
  }
}

std::vector<Operand> unroll_scan(const Node& n) {
  Scan s = scan_of(n);
  std::vector<Operand> carries = s.carries;
  std::vector<std::vector<Operand>> rows(n.types.size() - carries.size());
  for (int64_t t = 0; t < s.turns; ++t) {
    int64_t i = s.reverse ? s.turns - 1 - t : t;
    std::vector<Operand> in{constant_int(DType::I64, i)};
    append(in, carries);
    for (const Operand& x : s.xs)
      in.push_back(row(x, i));
    append(in, s.captures);
    std::vector<Operand> out = replay(*s.body, in);
    carries = part(out, 0, carries.size());
    for (size_t k = 0; k < rows.size(); ++k)
      rows[k].push_back(expand_axis(out[carries.size() + k], 0));
  }
  std::vector<Operand> results = carries;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (s.reverse) std::reverse(rows[k].begin(), rows[k].end());
    results.push_back(rows[k].empty() ? zeros(n.types[carries.size() + k]) : concat(std::move(rows[k]), 0));
  }
  return results;
}

const OpDef kOps[] = {
    {.name = "scan",
     .kind = OpKind::Control,
     .doc = "A sub-graph run a known number of times over the rows of arrays.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::differentiable(reverse_scan),
     .batch = batch_scan,
     .unroll = unroll_scan,
     .nested = Nested::Scan},
    {.name = "unstack",
     .kind = OpKind::Control,
     .doc = "The rows of axis 0 as arrays of their own.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::differentiable([](VjpCtx& c) {
       std::vector<Operand> rows;
       for (size_t i = 0; i < c.node().types.size(); ++i)
         rows.push_back(c.dy(static_cast<int>(i)));
       c.grad(0, stack_rows(std::move(rows)));
     }),
     .batch = [](BatchCtx& c) { return unstack(swap_first_two(c.inputs[0])); },
     .unroll =
         [](const Node& n) {
           std::vector<Operand> rows;
           for (size_t i = 0; i < n.types.size(); ++i)
             rows.push_back(row(n.inputs[0], static_cast<int64_t>(i)));
           return rows;
         },
     .nested = Nested::Unstack},
    {.name = "stack_rows",
     .kind = OpKind::Control,
     .doc = "Arrays of one shape as the rows of a new axis 0.",
     .dtypes = kAnyType,
     .infer = nullptr,
     .vjp = graph::differentiable([](VjpCtx& c) {
       std::vector<Operand> rows = unstack(c.dy());
       for (size_t i = 0; i < rows.size(); ++i)
         c.grad(static_cast<int>(i), rows[i]);
     }),
     .batch =
         [](BatchCtx& c) {
           std::vector<Operand> rows;
           for (size_t i = 0; i < c.inputs.size(); ++i)
             rows.push_back(with_batch(c.inputs[i], c.batched[i], c.batch));
           return std::vector{swap_first_two(stack_rows(std::move(rows)))};
         },
     .unroll =
         [](const Node& n) {
           std::vector<Operand> rows;
           for (const Operand& o : n.inputs)
             rows.push_back(expand_axis(o, 0));
           return std::vector{concat(std::move(rows), 0)};
         },
     .nested = Nested::Stack},
};

}  // namespace

Scan scan_of(const Node& n) {
  Scan s;
  s.body = n.subgraphs[0];
  s.turns = n.attrs.integer("turns");
  s.reverse = n.attrs.flag("reverse");
  s.single_rows = n.attrs.sizes("single_rows");
  s.order = n.attrs.integer("order");
  auto carries = static_cast<size_t>(n.attrs.integer("carries")), xs = static_cast<size_t>(n.attrs.integer("xs"));
  s.carries = part(n.inputs, 0, carries);
  s.xs = part(n.inputs, carries, xs);
  s.captures = part(n.inputs, carries + xs, n.inputs.size() - carries - xs);
  return s;
}

std::vector<Operand> scan(Scan s) {
  std::vector<TensorType> types = output_types(*s.body);
  for (size_t i = s.carries.size(); i < types.size(); ++i)
    types[i] = stacked_type(types[i], s.turns);
  graph::Attrs attrs{{"turns", s.turns},
                     {"carries", static_cast<int64_t>(s.carries.size())},
                     {"xs", static_cast<int64_t>(s.xs.size())},
                     {"reverse", s.reverse},
                     {"single_rows", s.single_rows},
                     {"order", s.order}};
  std::vector<Operand> inputs = std::move(s.carries);
  append(inputs, s.xs);
  append(inputs, s.captures);
  return apply_control("scan", std::move(inputs), std::move(attrs), {std::move(s.body)}, std::move(types));
}

std::vector<Operand> unstack(const Operand& x) {
  return apply_control("unstack", {x}, {}, {},
                       std::vector<TensorType>(static_cast<size_t>(x.size(0).value()), row_type(x.type())));
}

Operand stack_rows(std::vector<Operand> rows) {
  TensorType type = stacked_type(rows[0].type(), static_cast<int64_t>(rows.size()));
  return apply_control("stack_rows", std::move(rows), {}, {}, {type})[0];
}

std::span<const OpDef> scan_ops() { return kOps; }

}  // namespace sheaf::ops
