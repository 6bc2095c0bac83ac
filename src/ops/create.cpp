// Arrays created from sizes alone.
#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::kNoData;
using graph::LowerCtx;
using graph::OpKind;
using graph::zero_derivative;

std::vector<TensorType> infer_iota(const InferCtx& c) {
  return {{c.attrs.get<DType>("dtype"), c.attrs.sizes("sizes")}};
}

void lower_iota(LowerCtx& c) {
  c.for_each(c.out[0].sizes,
             [&](auto index) { c.store(c.out[0], index, c.b.convert(index[0], compute_type(c.out[0].dtype))); });
}

std::vector<TestCase> iota_cases(DType d) {
  std::vector<TestCase> out;
  for (const Dims& s : {Dims{0}, Dims{1}, Dims{300}})
    out.push_back({{{"dtype", d}, {"sizes", to_sizes(s)}}, {}});
  return out;
}

const OpDef kOps[] = {
    {.name = "iota",
     .kind = OpKind::Create,
     .doc = "0, 1, 2, …",
     .dtypes = kNoData,
     .infer = infer_iota,
     .vjp = zero_derivative("depends on no input"),
     .batch = graph::once_per_example("has no input to be batched"),
     .lower = lower_iota,
     .cases = {.list = iota_cases}},
};

}  // namespace

std::span<const OpDef> create_ops() { return kOps; }

}  // namespace sheaf::ops
