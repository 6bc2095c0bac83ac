// The product with quantized weights, which it reads in their stored form. routines/quantized/args.h defines the result
// to the bit. The gradient is that of the product with the dequantized weights.
#include "ops/quantized.h"

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "routines/quantized/args.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::LowerCtx;
using graph::only;
using graph::OpKind;
using graph::VjpCtx;

const Size kTile = routines::kQuantizedTile;

bool has_four_bits(DType values) { return values == DType::U8; }
Size num_tiles(const Size& n) { return floor_div(n + kTile - Size(1), kTile); }

std::vector<TensorType> infer(const InferCtx& c) {
  const TensorType &x = c.inputs[0], &values = c.inputs[1], &scales = c.inputs[2];
  bool ok =
      x.rank() == 3 && values.rank() == 6 && scales.rank() == 3 && x.dtype == scales.dtype &&
      (values.dtype == DType::I8 || values.dtype == DType::U8) && x.sizes[0] == values.sizes[0] &&
      x.sizes[0] == scales.sizes[0] && values.sizes[1] == scales.sizes[1] &&
      values.sizes[2] == num_tiles(scales.sizes[2]) && values.sizes[4] == kTile &&
      x.sizes[2] == values.sizes[1] * values.sizes[3] * values.sizes[5] * Size(has_four_bits(values.dtype) ? 2 : 1);
  INVARIANT(ok, type_text(x) << " by " << type_text(values) << ", " << type_text(scales));
  return {{x.dtype, {x.sizes[0], x.sizes[1], scales.sizes[2]}}};
}

void lower(LowerCtx& c) {
  const auto &x = c.in[0], &values = c.in[1], &scales = c.in[2];
  const auto &xs = x.strides, &vs = values.strides, &ss = scales.strides;
  c.b.call({x.buffer, values.buffer, scales.buffer, c.out[0].buffer},
           routines::QuantizedArgs<loop::CallArg>{
               .dtype = x.dtype,
               .four_bits = has_four_bits(values.dtype),
               .batch = x.sizes[0],
               .m = x.sizes[1],
               .n = scales.sizes[2],
               .groups = values.sizes[1],
               .rows = values.sizes[3],
               .deep = values.sizes[5],
               .x = {xs[0], xs[1], xs[2]},
               .values = {vs[0], vs[1], vs[2], vs[3], vs[4], vs[5]},
               .scales = {ss[0], ss[1], ss[2]},
           });
}

// [B * groups, rows, N]
Operand all_levels(const Operand& values, const Operand& scales) {
  Sizes s = values.sizes();
  s[1] = s[0] * s[1];
  s.erase(s.begin());
  return quantized_levels(reshape(values, s), scales.size(2), scales.dtype());
}

void vjp(VjpCtx& c) {
  const Operand scales = c.x(2);
  Operand levels = all_levels(c.x(1), scales);
  Size all = levels.size(0), n = levels.size(2);
  if (c.needs(0))
    c.grad(0, dot(c.dy(), swap_last_two(reshape(mul(levels, reshape(scales, {all, 1, n})),
                                                {c.x(0).size(0), c.x(0).size(2), n}))));
  if (c.needs(2))
    c.grad(2,
           reshape(sum(mul(reshape(dot(swap_last_two(c.x(0)), c.dy()), levels.sizes()), levels), {1}), scales.sizes()));
}

std::vector<Operand> batch(BatchCtx& c) {
  bool shared = !c.batched[1] && !c.batched[2];
  if (shared && c.inputs[1].size(0) == Size(1)) {
    // A batch is more rows for the same weights.
    Operand x = c.inputs[0];
    Operand y = quantized_dot(reshape(x, {1, x.size(0) * x.size(2), x.size(3)}), c.inputs[1], c.inputs[2]);
    return {reshape(y, {c.batch, 1, x.size(2), y.size(2)})};
  }
  return batch_first_axis(c);
}

// Batch, rows of x, groups, columns, rows of bytes per group, interleaved rows; the last two for groups of 32 in 4 bits
// and in 8.
std::vector<TestCase> quantized_cases(DType) {
  std::vector<TestCase> out;
  for (DType bits : {DType::I8, DType::U8})
    for (Dims s : {Dims{1, 1, 2, 5, 3, 1}, Dims{2, 3, 1, 4, 2, 2}, Dims{1, 2, 0, 3, 1, 4}, Dims{0, 1, 1, 1, 1, 1},
                   Dims{1, 0, 1, 3, 1, 4}, Dims{1, 2, 3, 0, 1, 4}, Dims{1, 2, 2, 23, 5, 4}, Dims{2, 3, 3, 37, 4, 4},
                   Dims{2, 3, 5, 37, 4, 8}}) {
      int64_t k = s[2] * s[4] * s[5] * (bits == DType::U8 ? 2 : 1);
      out.push_back({{},
                     {{{s[0], s[1], k}},
                      {{s[0], s[2], (s[3] + 3) / 4, s[4], 4, s[5]}, TestInput::Uniform, -3, 3, bits},
                      {{s[0], s[2], s[3]}}}});
    }
  return out;
}

const OpDef kOps[] = {
    {.name = "quantized_dot",
     .kind = OpKind::Contract,
     .doc = "[B, M, K] by weights of 8 or 4 bits in groups along K, [B, groups, tiles, rows, 4, deep], with scales [B, "
            "groups, N].",
     .dtypes = only(DType::F32) | only(DType::F64),
     .infer = infer,
     .vjp = differentiable(vjp),
     .batch = batch,
     .lower = lower,
     .cases = {.list = quantized_cases}},
};

}  // namespace

Operand quantized_tiles(const Operand& values, int64_t deep, DType dtype) {
  Size groups = values.size(0), rows = values.size(1), tiles = num_tiles(values.size(2)),
       more = tiles * kTile - values.size(2);
  Operand filled = pad(values, {0, 0, 0}, {0, 0, more}, {0, 0, 0});
  return cast(transpose(reshape(filled, {groups, floor_div(rows, Size(deep)), deep, tiles, kTile}), {0, 3, 1, 4, 2}),
              dtype);
}

Operand quantized_levels(const Operand& values, const Size& n, DType dtype) {
  Operand rows = transpose(cast(values, dtype), {0, 2, 4, 1, 3});
  rows = reshape(rows, {values.size(0), values.size(2) * values.size(4), values.size(1) * kTile});
  rows = slice_axis(rows, 2, 0, n);
  if (!has_four_bits(values.dtype())) return rows;
  Operand high = apply1("floor", mul(rows, like(rows, 1.0 / 16))), low = sub(rows, mul(high, like(rows, 16)));
  return concat({sub(low, like(rows, 8)), sub(high, like(rows, 8))}, 1);
}

Operand quantized_dot(Operand x, Operand values, Operand scales) {
  return graph::apply(op("quantized_dot"), {std::move(x), std::move(values), std::move(scales)});
}

std::span<const OpDef> quantized_ops() { return kOps; }

}  // namespace sheaf::ops
