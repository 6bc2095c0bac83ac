#include "lower/single_op.h"

#include "ops/lower_ctx.h"

namespace sheaf::lower {
namespace {

using graph::LowerCtx;

// Work per parallel chunk of a flat elementwise loop: large enough to pay for a fork, a fixed number so that nothing
// depends on the number of threads.
constexpr int64_t kChunk = 16384;

void lower_elementwise(const graph::OpDef& op, LowerCtx& c) {
  auto& b = c.b;
  auto element = [&](std::span<const uint32_t> index) {
    std::vector<uint32_t> x;
    for (const auto& in : c.in)
      x.push_back(c.load(in, index));
    graph::ScalarCtx s{b, x, c.attrs, compute_type(c.out[0].dtype)};
    c.store(c.out[0], index, op.scalar(s));
  };
  const auto& sizes = c.out[0].sizes;
  if (sizes.empty()) return element({});
  if (sizes.size() > 1) return c.for_each(sizes, element);
  uint32_t n = sizes[0], step = b.i64(kChunk);
  uint32_t chunks = b.binary(loop::Op::FloorDiv, b.add(n, b.i64(kChunk - 1)), step);
  uint32_t base = b.mul(b.begin_loop(chunks, loop::Mark::Parallel), step);
  uint32_t i = b.add(base, b.begin_loop(b.min(step, b.sub(n, base)), loop::Mark::Vector));
  element(std::span(&i, 1));
  b.end();
  b.end();
}

}  // namespace

loop::Kernel lower_single(const graph::OpDef& op, const graph::Attrs& attrs, const std::vector<ArrayKey>& inputs,
                          const std::vector<ArrayKey>& outputs, bool in_place) {
  loop::Builder b{std::string(op.name)};
  LowerCtx c(b, attrs);
  c.in_place = in_place;
  for (const ArrayKey& k : inputs) {
    LowerCtx::Array a{b.buffer(k.dtype, false), k.dtype, {}, {}};
    for (int i = 0; i < k.rank; ++i)
      a.sizes.push_back(b.size());
    for (int i = 0; i < k.rank; ++i)
      a.strides.push_back(b.size());
    c.in.push_back(std::move(a));
  }
  for (const ArrayKey& k : outputs) {
    LowerCtx::Array a{b.buffer(k.dtype, true), k.dtype, {}, {}};
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
