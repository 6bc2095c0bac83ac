#include "lower/single_op.h"

#include "ops/lower_ctx.h"

namespace sheaf::lower {
namespace {

using graph::LowerCtx;

void lower_elementwise(const graph::OpDef& op, LowerCtx& c) {
  auto& b = c.b;
  c.for_each(c.out[0].sizes, [&](std::span<const uint32_t> index) {
    std::vector<uint32_t> x;
    for (const auto& in : c.in)
      x.push_back(c.load(in, index));
    graph::ScalarCtx s{b, x, c.attrs, compute_type(c.out[0].dtype)};
    c.store(c.out[0], index, op.scalar(s));
  });
}

}  // namespace

loop::Kernel lower_single(const graph::OpDef& op, const graph::Attrs& attrs, const std::vector<ArrayKey>& inputs,
                          const std::vector<ArrayKey>& outputs, bool in_place) {
  loop::Builder b{std::string(op.name)};
  LowerCtx c(b, attrs);
  c.in_place = in_place;
  for (const ArrayKey& k : inputs) {
    const DType d = kernel_type(k.dtype);
    LowerCtx::Array a{b.buffer(d, false), d, {}, {}};
    for (int i = 0; i < k.rank; ++i)
      a.sizes.push_back(b.size());
    for (int i = 0; i < k.rank; ++i)
      a.strides.push_back(b.size());
    c.in.push_back(std::move(a));
  }
  for (const ArrayKey& k : outputs) {
    const DType d = kernel_type(k.dtype);
    LowerCtx::Array a{b.buffer(d, true), d, {}, {}};
    for (int i = 0; i < k.rank; ++i)
      a.sizes.push_back(b.size());
    a.strides.resize(k.rank);
    uint32_t stride = b.i64(1);
    for (int i = k.rank - 1; i >= 0; --i) {
      a.strides[i] = stride;
      stride = b.mul(stride, a.sizes[i]);
    }
    c.out.push_back(std::move(a));
  }
  if (op.kind == graph::OpKind::Elementwise)
    lower_elementwise(op, c);
  else
    op.lower(c);
  return b.finish();
}

}  // namespace sheaf::lower
