// Eigenvalues, singular values, linear equations and triangular factors of matrices, by the routines of
// routines/linalg/args.h; the derivatives use closed formulas.
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

std::vector<TensorType> infer_values(const InferCtx& c) {
  const TensorType& a = c.inputs[0];
  return {{a.dtype, {a.sizes[0], a.sizes[2]}}};
}

std::vector<TensorType> infer_qr(const InferCtx& c) {
  const TensorType& a = c.inputs[0];
  return {a, {a.dtype, {a.sizes[0], a.sizes[2], a.sizes[2]}}};
}
std::vector<TensorType> infer_lu(const InferCtx& c) {
  const TensorType& a = c.inputs[0];
  return {a, {DType::I32, {a.sizes[0], a.sizes[1]}}};
}
std::vector<TensorType> infer_slogdet(const InferCtx& c) {
  const TensorType& a = c.inputs[0];
  return {{a.dtype, {a.sizes[0]}}, {a.dtype, {a.sizes[0]}}};
}
std::vector<TensorType> infer_right_side(const InferCtx& c) { return {c.inputs[1]}; }

// The inputs must be contiguous.
template <template <class> class Args>
void lower_square(LowerCtx& c) {
  const auto& a = c.in[0];
  std::vector<int32_t> buffers{a.buffer};
  for (const auto& out : c.out)
    buffers.push_back(out.buffer);
  c.b.call(std::move(buffers), Args<loop::CallArg>{{a.dtype, a.sizes[0], a.sizes[1]}});
}
template <template <class> class Args>
void lower_matrix(LowerCtx& c) {
  const auto& a = c.in[0];
  std::vector<int32_t> buffers{a.buffer};
  for (const auto& out : c.out)
    buffers.push_back(out.buffer);
  c.b.call(std::move(buffers), Args<loop::CallArg>{{a.dtype, a.sizes[0], a.sizes[1], a.sizes[2]}});
}
void lower_solve_triangular(LowerCtx& c) {
  const auto &a = c.in[0], &b = c.in[1];
  c.b.call(
      {a.buffer, b.buffer, c.out[0].buffer},
      routines::SolveTriangularArgs<loop::CallArg>{a.dtype, a.sizes[0], a.sizes[1], b.sizes[2], c.attrs.flag("upper"),
                                                   c.attrs.flag("transposed"), c.attrs.flag("unit")});
}
void lower_solve(LowerCtx& c) {
  const auto &a = c.in[0], &b = c.in[1];
  c.b.call({a.buffer, b.buffer, c.out[0].buffer},
           routines::SolveArgs<loop::CallArg>{a.dtype, a.sizes[0], a.sizes[1], b.sizes[2]});
}

Operand as_row(const Operand& x) { return expand_axis(x, 1); }
Operand as_column(const Operand& x) { return expand_axis(x, 2); }
Operand one_over(const Operand& x) {  // 0 for 0
  Operand none = equal(x, like(x, 0));
  return where(none, like(x, 0), like(x, 1) / where(none, like(x, 1), x));
}
// 1 / (x_j - x_i); 0 on the diagonal and between equal values, whose vectors are an arbitrary basis of their
// eigenspace.
Operand gaps(const Operand& x) { return one_over(as_row(x) - as_column(x)); }
Operand on_diagonal(const Operand& x) {
  Operand i = iota(x.size(1), DType::I64);
  return where(equal(reshape(i, {1, x.size(1), 1}), reshape(i, {1, 1, x.size(1)})), as_row(x), like(x, 0));
}

// With a = v diag(w) v^T: the symmetric part of v (diag(dw) + gaps * v^T dv) v^T, because only that of a counts.
void vjp_eigh(VjpCtx& c) {
  Operand w = c.y(0), v = c.y(1), vt = swap_last_two(v);
  Operand da = dot(dot(v, on_diagonal(c.dy(0)) + gaps(w) * dot(vt, c.dy(1))), vt);
  c.grad(0, like(da, 0.5) * (da + swap_last_two(da)));
}

// Only the derivative needs the vectors.
void vjp_eigvalsh(VjpCtx& c) {
  Operand v = graph::apply_all(op("eigh"), {c.x(0)})[1];
  c.grad(0, dot(v * as_row(c.dy()), swap_last_two(v)));
}
void vjp_svdvals(VjpCtx& c) {
  std::vector<Operand> parts = graph::apply_all(op("svd"), {c.x(0)});
  c.grad(0, dot(parts[0] * as_row(c.dy()), swap_last_two(parts[2])));
}

// With a = u diag(s) v^T: within the spaces spanned by u and v as for eigh of a^T a and a a^T; outside them the rest of
// du and dv, divided by s.
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

// The part of a matrix below the diagonal, on it, or above.
enum class Where : uint8_t { Below, On, Above };
Operand part_of(const Operand& m, Where place) {
  Operand row = reshape(iota(m.size(1), DType::I64), {1, m.size(1), 1}),
          column = reshape(iota(m.size(2), DType::I64), {1, 1, m.size(2)});
  Operand keep = place == Where::Below ? less(column, row)
                 : place == Where::On  ? equal(column, row)
                                       : less(row, column);
  return where(keep, m, like(m, 0));
}
Operand below(const Operand& m) { return part_of(m, Where::Below); }
Operand upper(const Operand& m) { return m - below(m); }

Operand solve(const Operand& a, const Operand& b) { return graph::apply_all(op("solve"), {a, b})[0]; }

// With a x = b: a^T db = dx, and da = -db x^T.
void vjp_solve(VjpCtx& c) {
  Operand db = solve(swap_last_two(c.x(0)), c.dy());
  c.grad(0, -dot(db, swap_last_two(c.y(0))));
  c.grad(1, db);
}

struct Shape {
  bool upper, transposed = false, unit = false;
};
Operand solve_triangular(const Operand& a, const Operand& b, Shape s) {
  return graph::apply(op("solve_triangular"), {a, b},
                      {{"upper", s.upper}, {"transposed", s.transposed}, {"unit", s.unit}});
}

void vjp_solve_triangular(VjpCtx& c) {
  const bool up = c.attrs().flag("upper"), transposed = c.attrs().flag("transposed"), unit = c.attrs().flag("unit");
  Operand db = solve_triangular(c.x(0), c.dy(), {up, !transposed, unit});
  Operand x = c.y(0), da = transposed ? dot(x, swap_last_two(db)) : dot(db, swap_last_two(x));
  Operand inside = part_of(da, up ? Where::Above : Where::Below);
  c.grad(0, -(unit ? inside : inside + part_of(da, Where::On)));
  c.grad(1, db);
}

Operand inverse_transposed(const Operand& a) {
  return solve(swap_last_two(a), on_diagonal(full({a.dtype(), {a.size(0), a.size(1)}}, 1)));
}

// d det(a) = det(a) tr(a^-1 da).
void vjp_det(VjpCtx& c) { c.grad(0, reshape(c.dy() * c.y(0), {c.x(0).size(0), 1, 1}) * inverse_transposed(c.x(0))); }
void vjp_slogdet(VjpCtx& c) {
  if (c.has_dy(1)) c.grad(0, reshape(c.dy(1), {c.x(0).size(0), 1, 1}) * inverse_transposed(c.x(0)));
}

// With p a = l u and square l and u: l^T dl below the diagonal and du u^T on and above it, between l^-T and u^-T.
// Additional rows or columns of a are l2 u or l u2, whose share is subtracted from du u^T or l^T dl.
void vjp_lu(VjpCtx& c) {
  Operand f = c.y(0), df = c.dy(0);
  const Size m = f.size(1), n = f.size(2), k = min(m, n);
  auto square = [&](const Operand& x) { return slice_axis(slice_axis(x, 1, Size(0), k), 2, Size(0), k); };
  auto tall = [&](const Operand& x) { return slice_axis(slice_axis(x, 1, k, m - k), 2, Size(0), k); };
  auto wide = [&](const Operand& x) { return slice_axis(slice_axis(x, 1, Size(0), k), 2, k, n - k); };
  Operand lu = square(f), dlu = square(df), l = below(lu) + on_diagonal(full({f.dtype(), {f.size(0), k}}, 1));
  Operand dl = dot(swap_last_two(l), below(dlu)), du = dot(upper(dlu), swap_last_two(upper(lu)));
  const Operand tall_dl = tall(df), wide_du = wide(df);
  du = du - dot(swap_last_two(tall(f)), tall_dl);
  dl = dl - dot(wide_du, swap_last_two(wide(f)));
  auto over_u = [&](const Operand& x) {
    return swap_last_two(solve_triangular(lu, swap_last_two(x), {.upper = true}));
  };
  auto over_l = [&](const Operand& x) {
    return solve_triangular(lu, x, {.upper = false, .transposed = true, .unit = true});
  };
  Operand rows = concat({over_u(over_l(below(dl) + upper(du))), over_u(tall_dl)}, 1);
  Operand more = concat({over_l(wide_du), zeros({f.dtype(), {f.size(0), m - k, n - k}})}, 1);
  Operand permuted = concat({rows, more}, 2);
  Operand index = broadcast_to(reshape(cast(c.y(1), DType::I64), {f.size(0), m, Size(1)}), permuted.sizes());
  c.grad(0, put_along(zeros({f.dtype(), permuted.sizes()}), index, permuted, 1, kInRange, false));
}

// With m = r dr^T - dq^T q, symmetrized from its lower triangle: (dq + q m) r^-T.
void vjp_qr(VjpCtx& c) {
  Operand q = c.y(0), r = c.y(1), m = dot(r, swap_last_two(c.dy(1))) - dot(swap_last_two(c.dy(0)), q);
  Operand s = below(m) + swap_last_two(below(m)) + part_of(m, Where::On);
  c.grad(0, swap_last_two(solve_triangular(r, swap_last_two(c.dy(0) + dot(q, s)), {.upper = true})));
}

// The symmetric part of l^-T (half the diagonal of l^T dl, and all below it) l^-1. Murray, arXiv:1602.07527.
void vjp_cholesky(VjpCtx& c) {
  Operand l = c.y(0);
  auto over = [&](const Operand& x) {
    return swap_last_two(solve_triangular(l, x, {.upper = false, .transposed = true}));
  };
  Operand m = dot(swap_last_two(l), below(c.dy()) + part_of(c.dy(), Where::On));
  Operand s = over(over(below(m) + like(m, 0.5) * part_of(m, Where::On)));
  c.grad(0, like(s, 0.5) * (s + swap_last_two(s)));
}

// Square matrices, or with more rows than columns; with a right-hand side if the op takes one.
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
std::vector<TestCase> triangular_cases(DType) {
  std::vector<TestCase> out;
  for (bool upper : {false, true})
    for (bool transposed : {false, true})
      for (bool unit : {false, true})
        for (TestCase c : matrix_cases(false, true)) {
          c.attrs = {{"upper", upper}, {"transposed", transposed}, {"unit", unit}};
          out.push_back(std::move(c));
        }
  return out;
}
std::vector<TestCase> lu_cases(DType) {
  std::vector<TestCase> out = matrix_cases(true, false);
  out.push_back({{}, {{{2, 3, 5}, TestInput::Matrix}}});
  return out;
}

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
     .lower = lower_matrix<routines::SvdArgs>,
     .cases = {.list = svd_cases}},
    {.name = "eigvalsh",
     .kind = OpKind::Ordered,
     .doc = "Eigenvalues, rising, of the symmetric part of matrices [batch, n, n].",
     .dtypes = kWideFloats,
     .infer = infer_values,
     .vjp = differentiable(vjp_eigvalsh),
     .batch = batch_first_axis,
     .lower = lower_square<routines::EigvalshArgs>,
     .cases = {.list = square_cases}},
    {.name = "svdvals",
     .kind = OpKind::Ordered,
     .doc = "Singular values, falling, of matrices [batch, m, n] with m >= n.",
     .dtypes = kWideFloats,
     .infer = infer_values,
     .vjp = differentiable(vjp_svdvals),
     .batch = batch_first_axis,
     .lower = lower_matrix<routines::SvdvalsArgs>,
     .cases = {.list = svd_cases}},
    {.name = "solve",
     .kind = OpKind::Ordered,
     .doc = "x with a x = b, for a [batch, n, n] and b [batch, n, k].",
     .dtypes = kWideFloats,
     .infer = infer_right_side,
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
    {.name = "solve_triangular",
     .kind = OpKind::Ordered,
     .doc = "x with a x = b, or a^T x = b, for a triangle of a [batch, n, n] and b [batch, n, k].",
     .dtypes = kWideFloats,
     .infer = infer_right_side,
     .vjp = differentiable(vjp_solve_triangular),
     .batch = batch_first_axis,
     .lower = lower_solve_triangular,
     .cases = {.list = triangular_cases}},
    {.name = "slogdet",
     .kind = OpKind::Ordered,
     .doc = "Signs of determinants and logarithms of their magnitudes, [batch] both, of matrices [batch, n, n].",
     .dtypes = kWideFloats,
     .infer = infer_slogdet,
     .vjp = differentiable(vjp_slogdet),
     .batch = batch_first_axis,
     .lower = lower_square<routines::SlogdetArgs>,
     .cases = {.list = square_cases}},
    {.name = "lu",
     .kind = OpKind::Ordered,
     .doc = "l (below the diagonal, without its ones) and u of matrices [batch, m, n], and the rows that l u gives.",
     .dtypes = kWideFloats,
     .infer = infer_lu,
     .vjp = differentiable(vjp_lu),
     .batch = batch_first_axis,
     .lower = lower_matrix<routines::LuArgs>,
     .cases = {.list = lu_cases}},
    {.name = "qr",
     .kind = OpKind::Ordered,
     .doc = "q with orthonormal columns and upper triangular r, x = q r, of matrices [batch, m, n] with m >= n.",
     .dtypes = kWideFloats,
     .infer = infer_qr,
     .vjp = differentiable(vjp_qr),
     .batch = batch_first_axis,
     .lower = lower_matrix<routines::QrArgs>,
     .cases = {.list = svd_cases}},
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
