// The one general batched matrix product; everything contracted is brought to it by views.
#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "routines/gemm/args.h"
#include "routines/gemm/views.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kNumbers;
using graph::LowerCtx;
using graph::only;
using graph::OpKind;
using graph::VjpCtx;

std::vector<TensorType> infer_dot(const InferCtx& c) {
  const TensorType &a = c.inputs[0], &b = c.inputs[1];
  INVARIANT(a.rank() == 3 && b.rank() == 3 && a.sizes[0] == b.sizes[0] && a.sizes[2] == b.sizes[1],
            type_text(a) << " by " << type_text(b));
  DType out = a.dtype == DType::I8 ? DType::I32 : a.dtype;
  return {{out, {a.sizes[0], a.sizes[1], b.sizes[2]}}};
}

std::vector<TensorType> infer_wide_dot(const InferCtx& c) {
  std::vector<TensorType> out = infer_dot(c);
  INVARIANT(kNarrowFloats.has(out[0].dtype), type_text(c.inputs[0]));
  out[0].dtype = DType::F32;
  return out;
}

// An operand as routines/gemm/views.h takes it: batch, axes of the rows, axes of the columns.
routines::MatrixOfView<loop::CallArg> matrix_of(const LowerCtx::Array& a) {
  routines::MatrixOfView<loop::CallArg> out{.batch = a.strides[0], .rows = {}, .columns = {}};
  for (size_t i = 0; i < routines::kViewAxes; ++i) {
    const size_t row = 1 + i, column = row + routines::kViewAxes;
    out.rows.sizes[i] = a.sizes[row], out.rows.strides[i] = a.strides[row];
    out.columns.sizes[i] = a.sizes[column], out.columns.strides[i] = a.strides[column];
  }
  return out;
}

void lower_dot(LowerCtx& c) {
  const auto &a = c.in[0], &b = c.in[1];
  if (a.rank() > 3)
    return c.b.call({a.buffer, b.buffer, c.out[0].buffer},
                    routines::ContractViewsArgs<loop::CallArg>{
                        .dtype = a.dtype, .batch = a.sizes[0], .a = matrix_of(a), .b = matrix_of(b)});
  c.b.call({a.buffer, b.buffer, c.out[0].buffer}, routines::GemmArgs<loop::CallArg>{
                                                      .dtype = a.dtype,
                                                      .batch = a.sizes[0],
                                                      .m = a.sizes[1],
                                                      .n = b.sizes[2],
                                                      .k = a.sizes[2],
                                                      .a = {a.strides[0], a.strides[1], a.strides[2]},
                                                      .b = {b.strides[0], b.strides[1], b.strides[2]},
                                                      .result = c.out[0].dtype,
                                                      .line = c.out[0].sizes[2],  // as the plan asks for
                                                  });
}

void vjp_dot(VjpCtx& c) {
  if (c.needs(0)) c.grad(0, dot(c.dy(), swap_last_two(c.x(1))));
  if (c.needs(1)) c.grad(1, dot(swap_last_two(c.x(0)), c.dy()));
}

// Gradients of the operands are f32 as well: nothing is rounded between products.
void vjp_wide_dot(VjpCtx& c) {
  Operand dy = cast(c.dy(), c.x(0).dtype());
  if (c.needs(0)) c.grad(0, wide_dot(dy, swap_last_two(c.x(1))));
  if (c.needs(1)) c.grad(1, wide_dot(swap_last_two(c.x(0)), dy));
}

// A matrix that all examples share multiplies the rows of all as one matrix. The gradient of the shared one is then a
// single product as well, not one for each example and their sum. From the left it does so for columns only: the
// transpose of a column is a view.
std::vector<Operand> batch_dot(BatchCtx& c) {
  auto shared = [&](int i) { return !c.batched[i] && c.inputs[i].size(0) == Size(1); };
  auto rows = [&](const Operand& x) { return reshape(x, {1, c.batch * x.size(2), x.size(3)}); };
  const Operand &a = c.inputs[0], &b = c.inputs[1];
  if (c.batched[0] && shared(1)) return {reshape(graph::apply(c.op, {rows(a), b}), {c.batch, 1, a.size(2), b.size(2)})};
  if (c.batched[1] && shared(0) && b.size(3) == Size(1))
    return {reshape(graph::apply(c.op, {rows(swap_last_two(b)), swap_last_two(a)}), {c.batch, 1, a.size(1), 1})};
  return batch_first_axis(c);
}

std::vector<TestCase> dot_cases(DType) {
  std::vector<TestCase> out;
  for (Dims s : {Dims{1, 2, 3, 4}, Dims{2, 1, 1, 1}, Dims{2, 3, 0, 2}, Dims{0, 2, 2, 2}, Dims{1, 0, 2, 3},
                 Dims{3, 5, 7, 2}, Dims{1, 3, 521, 2}})
    out.push_back({{}, {{{s[0], s[1], s[2]}}, {{s[0], s[2], s[3]}}}});
  return out;
}

const OpDef kOps[] = {
    {.name = "dot",
     .kind = OpKind::Contract,
     .doc = "[B, M, K] by [B, K, N]; bf16 and f16 accumulate in f32, i8 in i32.",
     .dtypes = kNumbers | only(DType::I8),
     .infer = infer_dot,
     .vjp = differentiable(vjp_dot),
     .batch = batch_dot,
     .complex = complex_dot,
     .lower = lower_dot,
     .cases = {.list = dot_cases}},
    {.name = "wide_dot",
     .kind = OpKind::Contract,
     .doc = "A dot of bf16 or f16 that gives the f32 it is accumulated in, and gradients in f32.",
     .dtypes = kNarrowFloats,
     .infer = infer_wide_dot,
     .vjp = differentiable(vjp_wide_dot),
     .batch = batch_dot,
     .lower = lower_dot,
     .cases = {.list = dot_cases}},
};

}  // namespace

std::span<const OpDef> contract_ops() { return kOps; }

}  // namespace sheaf::ops
