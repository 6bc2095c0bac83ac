// Grouped products: each group of rows times its own matrix, where the sizes of the groups are data; and their adjoint.
// routines/gemm/grouped.h defines the results to the bit. Each is the other's derivative, so both have derivatives of
// every order.
#include "routines/gemm/grouped.h"

#include <fmt/format.h>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::CheckCtx;
using graph::differentiable;
using graph::kFloats;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;

Operand grouped_dot(Operand x, Operand w, Operand counts) {
  return graph::apply(op("grouped_dot"), {std::move(x), std::move(w), std::move(counts)});
}
Operand grouped_outer(Operand x, Operand z, Operand counts) {
  return graph::apply(op("grouped_outer"), {std::move(x), std::move(z), std::move(counts)});
}

Operand wide_grouped_dot(Operand x, Operand w, Operand counts) {
  return graph::apply(op("wide_grouped_dot"), {std::move(x), std::move(w), std::move(counts)});
}
Operand wide_grouped_outer(Operand x, Operand z, Operand counts) {
  return graph::apply(op("wide_grouped_outer"), {std::move(x), std::move(z), std::move(counts)});
}

std::vector<TensorType> infer_dot(const InferCtx& c) {
  const TensorType &x = c.inputs[0], &w = c.inputs[1], &counts = c.inputs[2];
  bool ok = x.rank() == 3 && w.rank() == 4 && counts.rank() == 2 && x.dtype == w.dtype && counts.dtype == DType::I64 &&
            x.sizes[0] == w.sizes[0] && x.sizes[0] == counts.sizes[0] && w.sizes[1] == counts.sizes[1] &&
            x.sizes[2] == w.sizes[2];
  INVARIANT(ok, type_text(x) << " by " << type_text(w) << " in groups " << type_text(counts));
  return {{x.dtype, {x.sizes[0], x.sizes[1], w.sizes[3]}}};
}

std::vector<TensorType> infer_outer(const InferCtx& c) {
  const TensorType &x = c.inputs[0], &z = c.inputs[1], &counts = c.inputs[2];
  bool ok = x.rank() == 3 && z.rank() == 3 && counts.rank() == 2 && x.dtype == z.dtype && counts.dtype == DType::I64 &&
            x.sizes[0] == z.sizes[0] && x.sizes[0] == counts.sizes[0] && x.sizes[1] == z.sizes[1];
  INVARIANT(ok, type_text(x) << " by " << type_text(z) << " in groups " << type_text(counts));
  return {{x.dtype, {x.sizes[0], counts.sizes[1], x.sizes[2], z.sizes[2]}}};
}

template <auto infer>
std::vector<TensorType> widened(const InferCtx& c) {
  std::vector<TensorType> out = infer(c);
  out[0].dtype = DType::F32;
  return out;
}

enum Site { kNegative, kTooMany };

// The kernel checks the counts first.
void lower(LowerCtx& c, bool outer) {
  constexpr int64_t kFar = int64_t{1} << 40;  // more rows than exist, and sums of such counts do not overflow
  auto& b = c.b;
  const auto &x = c.in[0], &other = c.in[1], &counts = c.in[2];
  uint32_t batch = x.sizes[0], rows = x.sizes[1], groups = counts.sizes[1];
  auto over_groups = [&](uint32_t p, loop::Combine combine) {
    uint32_t g = b.begin_reduce(groups, combine);
    return b.end_reduce(b.min(c.load(counts, {p, g}), b.i64(kFar)));
  };
  uint32_t p = b.begin_loop(batch, loop::Mark::Serial);
  uint32_t least = over_groups(p, loop::Combine::Min), all = over_groups(p, loop::Combine::Sum);
  b.check(b.ge(least, b.i64(0)), kNegative, least);
  b.check(b.le(all, rows), kTooMany, all);
  b.end();
  const auto& os = other.strides;
  routines::GroupedArgs<loop::CallArg> args{
      .dtype = x.dtype,
      .outer = outer,
      .batch = batch,
      .rows = rows,
      .groups = groups,
      .k = x.sizes[2],
      .n = other.sizes.back(),
      .counts = {counts.strides[0], counts.strides[1]},
      .x = {x.strides[0], x.strides[1], x.strides[2]},
      .result = c.out[0].dtype,
  };
  if (outer)
    args.other = {.batch = os[0], .row = os[1], .column = os[2]};
  else
    args.other = {os[0], os[1], os[2], os[3]};
  b.call({x.buffer, other.buffer, counts.buffer, c.out[0].buffer}, args);
}

std::string counts_text(const CheckCtx& c) {
  if (c.site == kTooMany)
    return fmt::format("grouped-matmul: the groups have {} rows together, x has {}", c.payload,
                       c.inputs[0].sizes[1].str());
  if (c.payload == INT64_MIN) return "grouped-matmul: expected whole numbers of rows";
  return fmt::format("grouped-matmul: a group cannot have {} rows", c.payload);
}

void vjp_dot(VjpCtx& c) {
  if (c.needs(0)) c.grad(0, grouped_dot(c.dy(), swap_last_two(c.x(1)), c.x(2)));
  if (c.needs(1)) c.grad(1, grouped_outer(c.x(0), c.dy(), c.x(2)));
}

void vjp_outer(VjpCtx& c) {
  if (c.needs(0)) c.grad(0, grouped_dot(c.x(1), swap_last_two(c.dy()), c.x(2)));
  if (c.needs(1)) c.grad(1, grouped_dot(c.x(0), c.dy(), c.x(2)));
}

// As in wide_dot: rounds operands and nothing else.
void vjp_wide_dot(VjpCtx& c) {
  Operand dy = cast(c.dy(), c.x(0).dtype());
  if (c.needs(0)) c.grad(0, wide_grouped_dot(dy, swap_last_two(c.x(1)), c.x(2)));
  if (c.needs(1)) c.grad(1, wide_grouped_outer(c.x(0), dy, c.x(2)));
}

void vjp_wide_outer(VjpCtx& c) {
  Operand dy = cast(c.dy(), c.x(0).dtype());
  if (c.needs(0)) c.grad(0, wide_grouped_dot(c.x(1), swap_last_two(dy), c.x(2)));
  if (c.needs(1)) c.grad(1, wide_grouped_dot(c.x(0), dy, c.x(2)));
}

// Batch, rows, columns of both operands, groups.
std::vector<TestCase> grouped_cases(bool outer) {
  struct Shape {
    int64_t b, m, k, n, g;
  };
  std::vector<TestCase> out;
  for (Shape s : {Shape{1, 5, 3, 2, 3},
                  {2, 4, 2, 3, 2},
                  {1, 1, 1, 1, 1},
                  {1, 6, 2, 3, 1},
                  {1, 0, 2, 3, 2},
                  {1, 3, 0, 2, 2},
                  {1, 3, 2, 0, 2},
                  {1, 4, 2, 3, 0},
                  {0, 2, 2, 2, 2},
                  {1, 7, 521, 3, 2},
                  {1, 40, 7, 33, 4}})
    out.push_back({{},
                   {{{s.b, s.m, s.k}},
                    {outer ? Dims{s.b, s.m, s.n} : Dims{s.b, s.g, s.k, s.n}},
                    {{s.b, s.g}, TestInput::Counts, 0, static_cast<double>(s.m)}}});
  return out;
}
std::vector<TestCase> grouped_dot_cases(DType) { return grouped_cases(false); }
std::vector<TestCase> grouped_outer_cases(DType) { return grouped_cases(true); }

const OpDef kOps[] = {
    {.name = "grouped_dot",
     .kind = OpKind::Contract,
     .doc = "[B, M, K] by [B, G, K, N]: rows in groups one after the other, [B, G] of them in each, by the group's "
            "matrix.",
     .dtypes = kFloats,
     .infer = infer_dot,
     .vjp = differentiable(vjp_dot),
     .batch = batch_first_axis,
     .lower = [](LowerCtx& c) { lower(c, false); },
     .check_text = counts_text,
     .cases = {.list = grouped_dot_cases}},
    {.name = "grouped_outer",
     .kind = OpKind::Contract,
     .doc = "[B, M, K] and [B, M, N] to [B, G, K, N]: for each group of rows, the transposed ones of the first by "
            "those of the second.",
     .dtypes = kFloats,
     .infer = infer_outer,
     .vjp = differentiable(vjp_outer),
     .batch = batch_first_axis,
     .lower = [](LowerCtx& c) { lower(c, true); },
     .check_text = counts_text,
     .cases = {.list = grouped_outer_cases}},
    {.name = "wide_grouped_dot",
     .kind = OpKind::Contract,
     .doc = "A grouped_dot of bf16 or f16 that gives the f32 it is accumulated in, and gradients in f32.",
     .dtypes = kNarrowFloats,
     .infer = widened<infer_dot>,
     .vjp = differentiable(vjp_wide_dot),
     .batch = batch_first_axis,
     .lower = [](LowerCtx& c) { lower(c, false); },
     .check_text = counts_text,
     .cases = {.list = grouped_dot_cases}},
    {.name = "wide_grouped_outer",
     .kind = OpKind::Contract,
     .doc = "A grouped_outer of bf16 or f16 that gives the f32 it is accumulated in, and gradients in f32.",
     .dtypes = kNarrowFloats,
     .infer = widened<infer_outer>,
     .vjp = differentiable(vjp_wide_outer),
     .batch = batch_first_axis,
     .lower = [](LowerCtx& c) { lower(c, true); },
     .check_text = counts_text,
     .cases = {.list = grouped_outer_cases}},
};

}  // namespace

std::span<const OpDef> grouped_ops() { return kOps; }

}  // namespace sheaf::ops
