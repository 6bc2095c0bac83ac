// Eigenvalues, singular values, linear equations and triangular factors of matrices. The routines are those of
// routines/linalg/args.h; the derivatives are the closed formulas.
#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "routines/linalg/args.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;

constexpr graph::DTypes kWideFloats = graph::only(DType::F32) | graph::only(DType::F64);

std::vector<TensorType> infer_eigh(const InferCtx& c) {
  const TensorType& a = c.inputs[0];
  return {{a.dtype, {a.sizes[0], a.sizes[1]}}, a};
}

std::vector<TensorType> infer_svd(const InferCtx& c) {
  const TensorType& a = c.inputs[0];
  Size batch = a.sizes[0], n = a.sizes[2];
  return {a, {a.dtype, {batch, n}}, {a.dtype, {batch, n, n}}};
}

// Contiguous.
template <template <class> class Args>
void lower_square(LowerCtx& c) {
  const auto& a = c.in[0];
  std::vector<int32_t> buffers{a.buffer};
  for (const auto& out : c.out)
    buffers.push_back(out.buffer);
  c.b.call(std::move(buffers), Args<loop::CallArg>{{a.dtype, a.sizes[0], a.sizes[1]}});
}
void lower_svd(LowerCtx& c) {
  const auto& a = c.in[0];
  c.b.call({a.buffer, c.out[0].buffer, c.out[1].buffer, c.out[2].buffer},
           routines::SvdArgs<loop::CallArg>{a.dtype, a.sizes[0], a.sizes[1], a.sizes[2]});
}
void lower_solve(LowerCtx& c) {
  const auto &a = c.in[0], &b = c.in[1];
  c.b.call({a.buffer, b.buffer, c.out[0].buffer},
           routines::SolveArgs<loop::CallArg>{a.dtype, a.sizes[0], a.sizes[1], b.sizes[2]});
}

Operand as_row(const Operand& x) { return expand_axis(x, 1); }
Operand as_column(const Operand& x) { return expand_axis(x, 2); }
Operand one_over(const Operand& x) {  // 0 of 0
  Operand none = equal(x, like(x, 0));
  return where(none, like(x, 0), like(x, 1) / where(none, like(x, 1), x));
}
// 1 / (x_j - x_i); 0 on the diagonal and between equals, whose vectors are any of the plane they span.
Operand gaps(const Operand& x) { return one_over(as_row(x) - as_column(x)); }
Operand on_diagonal(const Operand& x) {
  Operand i = iota(x.size(1), DType::I64);
  return where(equal(reshape(i, {1, x.size(1), 1}), reshape(i, {1, 1, x.size(1)})), as_row(x), like(x, 0));
}

// With a = v diag(w) v^T: v (diag(dw) + gaps * v^T dv) v^T, and of that the symmetric part, as only that of a counts.
void vjp_eigh(VjpCtx& c) {
  Operand w = c.y(0), v = c.y(1), vt = swap_last_two(v);
  Operand da = dot(dot(v, on_diagonal(c.dy(0)) + gaps(w) * dot(vt, c.dy(1))), vt);
  c.grad(0, like(da, 0.5) * (da + swap_last_two(da)));
}

// With a = u diag(s) v^T: inside the spaces of u and v as for eigh of a^T a and a a^T, outside of them what is left of
// du and dv, over s.
void vjp_svd(VjpCtx& c) {
  Operand u = c.y(0), s = c.y(1), v = c.y(2), du = c.dy(0), dv = c.dy(2);
  Operand f = gaps(s * s), over = as_row(one_over(s)), vt = swap_last_two(v);
  auto bent = [&](const Operand& x, const Operand& dx) {
    Operand m = dot(swap_last_two(x), dx);
    return f * (m - swap_last_two(m));
  };
  auto outside = [](const Operand& x, const Operand& dx) { return dx - dot(x, dot(swap_last_two(x), dx)); };
  Operand inner = bent(u, du) * as_row(s) + on_diagonal(c.dy(1)) + as_column(s) * bent(v, dv);
  c.grad(0, dot(dot(u, inner) + outside(u, du) * over, vt) + dot(u * over, swap_last_two(outside(v, dv))));
}

Operand solve(const Operand& a, const Operand& b) { return graph::apply_all(op("solve"), {a, b})[0]; }

// With a x = b: a^T db = dx, and da = -db x^T.
void vjp_solve(VjpCtx& c) {
  Operand db = solve(swap_last_two(c.x(0)), c.dy());
  c.grad(0, -dot(db, swap_last_two(c.y(0))));
  c.grad(1, db);
}

// d det(a) = det(a) tr(a^-1 da).
void vjp_det(VjpCtx& c) {
  Operand a = c.x(0), eye = on_diagonal(full({a.dtype(), {a.size(0), a.size(1)}}, 1));
  c.grad(0, reshape(c.dy() * c.y(0), {a.size(0), 1, 1}) * solve(swap_last_two(a), eye));
}

// l^-T (half the diagonal of l^T dl, and all below it) l^-1, and of that the symmetric part. Murray, arXiv:1602.07527.
void vjp_cholesky(VjpCtx& c) {
  Operand l = c.y(0), lt = swap_last_two(l), i = iota(l.size(1), DType::I64);
  Operand row = reshape(i, {1, l.size(1), 1}), column = reshape(i, {1, 1, l.size(1)}), zero = like(l, 0);
  auto below = [&](const Operand& m) { return where(less(column, row), m, zero); };
  auto diagonal = [&](const Operand& m) { return where(equal(column, row), m, zero); };
  Operand m = dot(lt, below(c.dy()) + diagonal(c.dy()));
  Operand s = solve(lt, swap_last_two(solve(lt, swap_last_two(below(m) + like(m, 0.5) * diagonal(m)))));
  c.grad(0, like(s, 0.5) * (s + swap_last_two(s)));
}

// Square matrices, or with more rows than columns; a right side where the op takes one.
std::vector<TestCase> matrix_cases(bool more_rows, bool right) {
  std::vector<TestCase> out;
  for (Dims s : {Dims{1, 1, 1}, Dims{2, 3, 3}, Dims{0, 2, 2}, Dims{2, 0, 0}, Dims{1, more_rows ? 6 : 4, 4},
                 Dims{3, more_rows ? 5 : 2, 2}}) {
    TestCase c{{}, {{s, TestInput::Matrix}}};
    if (right) c.inputs.push_back({{s[0], s[1], 3}});
    out.push_back(std::move(c));
  }
  return out;
}
std::vector<TestCase> square_cases(DType) { return matrix_cases(false, false); }
std::vector<TestCase> svd_cases(DType) { return matrix_cases(true, false); }
std::vector<TestCase> solve_cases(DType) { return matrix_cases(false, true); }

const OpDef kOps[] = {
    {.name = "eigh",
     .kind = OpKind::Ordered,
     .doc = "Eigenvalues, rising, and eigenvectors as columns of the symmetric part of matrices [batch, n, n].",
     .dtypes = kWideFloats,
     .infer = infer_eigh,
     .vjp = differentiable(vjp_eigh),
     .batch = batch_first_axis,
     .lower = lower_square<routines::EighArgs>,
     .cases = {.list = square_cases}},
    {.name = "svd",
     .kind = OpKind::Ordered,
     .doc = "u, s, v with x = u diag(s) v^T, s falling, of matrices [batch, m, n] with m >= n.",
     .dtypes = kWideFloats,
     .infer = infer_svd,
     .vjp = differentiable(vjp_svd),
     .batch = batch_first_axis,
     .lower = lower_svd,
     .cases = {.list = svd_cases}},
    {.name = "solve",
     .kind = OpKind::Ordered,
     .doc = "x with a x = b, for a [batch, n, n] and b [batch, n, k].",
     .dtypes = kWideFloats,
     .infer = [](const InferCtx& c) { return std::vector<TensorType>{c.inputs[1]}; },
     .vjp = differentiable(vjp_solve),
     .batch = batch_first_axis,
     .lower = lower_solve,
     .cases = {.list = solve_cases}},
    {.name = "det",
     .kind = OpKind::Ordered,
     .doc = "Determinants [batch] of matrices [batch, n, n].",
     .dtypes = kWideFloats,
     .infer = [](const InferCtx& c) { return std::vector<TensorType>{{c.inputs[0].dtype, {c.inputs[0].sizes[0]}}}; },
     .vjp = differentiable(vjp_det),
     .batch = batch_first_axis,
     .lower = lower_square<routines::DetArgs>,
     .cases = {.list = square_cases}},
    {.name = "cholesky",
     .kind = OpKind::Ordered,
     .doc = "Lower triangular l with l l^T the symmetric part of matrices [batch, n, n].",
     .dtypes = kWideFloats,
     .infer = infer_same,
     .vjp = differentiable(vjp_cholesky),
     .batch = batch_first_axis,
     .lower = lower_square<routines::CholeskyArgs>,
     .cases = {.list = square_cases}},
};

}  // namespace

std::span<const OpDef> decompose_ops() { return kOps; }

}  // namespace sheaf::ops
