// Eigenvalues and singular values of matrices. The routines are those of loop/decompose.h; the derivatives are the closed formulas.
#include "loop/builder.h"
#include "ops/emit.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"

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
void lower_eigh(LowerCtx& c) {
  c.b.call("eigh", {c.in[0].buffer, c.out[0].buffer, c.out[1].buffer}, {c.b.i64(static_cast<int64_t>(c.in[0].dtype)), c.in[0].sizes[0], c.in[0].sizes[1]});
}
void lower_svd(LowerCtx& c) {
  c.b.call("svd", {c.in[0].buffer, c.out[0].buffer, c.out[1].buffer, c.out[2].buffer},
           {c.b.i64(static_cast<int64_t>(c.in[0].dtype)), c.in[0].sizes[0], c.in[0].sizes[1], c.in[0].sizes[2]});
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

// With a = u diag(s) v^T: inside the spaces of u and v as for eigh of a^T a and a a^T, outside of them what is left of du and dv,
// over s.
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

// A batch of batches is one longer batch.
std::vector<Operand> batch_matrices(BatchCtx& c) {
  Operand x = c.inputs[0];
  Size batch = x.size(0), each = x.size(1);
  auto out = graph::apply_all(c.op, {reshape(x, {batch * each, x.size(2), x.size(3)})}, c.attrs);
  for (Operand& o : out) {
    Sizes sizes = o.sizes();
    sizes[0] = each;
    sizes.insert(sizes.begin(), batch);
    o = reshape(o, sizes);
  }
  return out;
}

const OpDef kOps[] = {
    {.name = "eigh", .kind = OpKind::Ordered, .doc = "Eigenvalues, rising, and eigenvectors as columns of the symmetric part of matrices [batch, n, n].", .dtypes = kWideFloats,
     .infer = infer_eigh, .vjp = differentiable(vjp_eigh), .batch = batch_matrices, .lower = lower_eigh},
    {.name = "svd", .kind = OpKind::Ordered, .doc = "u, s, v with x = u diag(s) v^T, s falling, of matrices [batch, m, n] with m >= n.", .dtypes = kWideFloats,
     .infer = infer_svd, .vjp = differentiable(vjp_svd), .batch = batch_matrices, .lower = lower_svd},
};

}  // namespace

std::span<const OpDef> decompose_ops() { return kOps; }

}  // namespace sheaf::ops
