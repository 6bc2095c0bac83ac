// Arrays from nothing but sizes (and a random key).
#include "loop/builder.h"
#include "ops/emit.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "ops/threefry.h"

namespace sheaf::ops {
namespace {

using graph::LowerCtx;
using graph::OpKind;
using graph::zero_derivative;

std::vector<TensorType> infer_iota(const InferCtx& c) { return {{c.attrs.get<DType>("dtype"), c.attrs.sizes("sizes")}}; }

void lower_iota(LowerCtx& c) {
  c.for_each(c.out[0].sizes, [&](auto index) { c.store(c.out[0], index, c.b.convert(index[0], compute_type(c.out[0].dtype))); });
}

std::vector<TensorType> infer_threefry(const InferCtx& c) {
  TensorType words{DType::U32, c.attrs.sizes("sizes")};
  return {words, words};
}

void lower_threefry(LowerCtx& c) {
  auto& b = c.b;
  uint32_t k0 = c.load(c.in[0], {b.i64(0)}), k1 = c.load(c.in[0], {b.i64(1)});
  c.for_each(c.out[0].sizes, [&](auto index) {
    uint32_t hi = b.convert(b.shr(index[0], b.i64(32)), DType::U32), lo = b.convert(index[0], DType::U32);
    auto [x0, x1] = threefry2x32(b, k0, k1, hi, lo);
    c.store(c.out[0], index, x0);
    c.store(c.out[1], index, x1);
  });
}

const OpDef kOps[] = {
    {.name = "iota", .kind = OpKind::Create, .doc = "0, 1, 2, …", .infer = infer_iota, .vjp = zero_derivative("depends on no input"), .lower = lower_iota},
    {.name = "threefry", .kind = OpKind::Create, .doc = "Both words of the Threefry-2x32 block of counters 0 … n-1 under a key (u32[2]).",
     .infer = infer_threefry, .vjp = zero_derivative("random bits"), .lower = lower_threefry},
};

}  // namespace

std::span<const OpDef> create_ops() { return kOps; }

}  // namespace sheaf::ops
