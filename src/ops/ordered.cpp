// Ops whose result depends on the order of a whole row: sorting and running values.
#include <cmath>

#include "loop/builder.h"
#include "ops/emit.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kAnyType;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;

std::vector<TensorType> infer_sort(const InferCtx& c) { return {c.inputs[0], {DType::I32, c.inputs[0].sizes}}; }
std::vector<TensorType> infer_same(const InferCtx& c) { return {c.inputs[0]}; }

// [rows, n], contiguous.
void lower_sort(LowerCtx& c) {
  c.b.call("sort", {c.in[0].buffer, c.out[0].buffer, c.out[1].buffer},
           {c.b.i64(static_cast<int64_t>(c.in[0].dtype)), c.in[0].sizes[0], c.in[0].sizes[1], c.b.i64(c.attrs.flag("descending"))});
}

// [outer, n, inner], contiguous.
void lower_cumulate(LowerCtx& c) {
  c.b.call("cumulate", {c.in[0].buffer, c.out[0].buffer},
           {c.b.i64(static_cast<int64_t>(c.in[0].dtype)), c.in[0].sizes[0], c.in[0].sizes[1], c.in[0].sizes[2], c.b.i64(c.attrs.integer("what"))});
}

Operand running_sum_from_the_end(Operand g) { return flip(cumulate(flip(std::move(g), 1), 1, 0), 1); }

void vjp_cumulate(VjpCtx& c) {
  switch (c.attrs().integer("what")) {
    case 0: c.grad(0, running_sum_from_the_end(c.dy())); return;
    case 1: {
      // d y_j / d x_i = y_j / x_i for j >= i. Where x_i is zero the quotient is replaced by the product of the others, which
      // the scan over a copy with that factor set to one gives; a second zero later makes the rest vanish by itself.
      Operand x = c.x(0), zero = like(x, 0);
      Operand is_zero = equal(x, zero);
      Operand safe = where(is_zero, like(x, 1), x);
      Operand zeros_so_far = cumulate(where(is_zero, like(x, 1), zero), 1, 0);
      Operand products = cumulate(safe, 1, 1);
      Operand none = where(equal(zeros_so_far, zero), c.dy() * products, zero);
      Operand one_zero = where(equal(zeros_so_far, like(x, 1)), c.dy() * products, zero);
      Operand at_nonzero = where(equal(zeros_so_far, zero), running_sum_from_the_end(none) / safe, zero);
      Operand at_zero = where(equal(zeros_so_far, like(x, 1)), running_sum_from_the_end(one_zero), zero);
      c.grad(0, where(is_zero, at_zero, at_nonzero));
      return;
    }
    default: {
      // Running maximum: the adjoint of a plateau goes to the element that started it.
      Operand y = c.y(), x = c.x(0);
      Size n = x.size(1);
      Operand before = pad(slice_axis(y, 1, 0, max(n - Size(1), Size(0))), {0, min(n, Size(1)), 0}, {0, 0, 0}, {0, 0, 0}, -HUGE_VAL);
      Operand starts = less(before, x);
      Operand group = cumulate(where(starts, like(x, 1), like(x, 0)), 1, 0) - like(x, 1);
      Operand total = put_along(zeros(x.type()), cast(group, DType::I64), c.dy(), 1, "cummax", false);
      Operand back = take_along(total, cast(group, DType::I64), 1, "cummax", false);
      c.grad(0, where(starts, back, like(x, 0)));
    }
  }
}

std::vector<Operand> batch_sort(BatchCtx& c) {
  Operand x = c.inputs[0];
  auto out = graph::apply_all(c.op, {reshape(x, {x.size(0) * x.size(1), x.size(2)})}, c.attrs);
  for (Operand& o : out) o = reshape(o, x.sizes());
  return out;
}

std::vector<Operand> batch_cumulate(BatchCtx& c) {
  Operand x = c.inputs[0];
  return {reshape(graph::apply(c.op, {reshape(x, {x.size(0) * x.size(1), x.size(2), x.size(3)})}, c.attrs), x.sizes())};
}

const OpDef kOps[] = {
    {.name = "sort", .kind = OpKind::Ordered, .doc = "Each row in order, stable, NaN last; also where each element came from (i32).", .dtypes = kAnyType,
     .infer = infer_sort, .vjp = differentiable([](VjpCtx& c) {
       if (!c.has_dy(0)) return;
       auto rows = [](Operand o) { return reshape(o, {o.size(0), o.size(1), 1}); };
       Operand g = put_along(zeros({c.dy().dtype(), rows(c.x(0)).sizes()}), rows(cast(c.y(1), DType::I64)), rows(c.dy(0)), 1, "sort", false);
       c.grad(0, reshape(g, c.x(0).sizes()));
     }), .batch = batch_sort, .lower = lower_sort},
    {.name = "cumulate", .kind = OpKind::Ordered, .doc = "Running sum, product or maximum along axis 1.", .dtypes = kAnyType,
     .infer = infer_same,
     .vjp = differentiable(vjp_cumulate), .batch = batch_cumulate, .lower = lower_cumulate},
};

}  // namespace

std::span<const OpDef> ordered_ops() { return kOps; }

}  // namespace sheaf::ops
