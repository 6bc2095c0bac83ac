// Nodes that structure a graph rather than compute.
#include "ops/apply.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kAnyType;
using graph::kNoData;
using graph::OpKind;
using graph::Role;
using graph::VjpCtx;

constexpr int64_t kLargestSize = (int64_t{1} << 53) - 1;  // sizes are exact in f64

std::vector<TensorType> infer_sizes(const InferCtx& c) {
  const Sizes& values = c.attrs.sizes("values");
  return {{c.attrs.get<DType>("dtype"),
           c.attrs.flag("scalar") ? Sizes{} : Sizes{Size(static_cast<int64_t>(values.size()))}}};
}

std::optional<Tensor> view_whole(const Tensor& t, const graph::Attrs&) { return t; }

std::vector<TestCase> leaf_cases(DType) { return {{{}, {{{}}}}, {{}, {{{3}}}}, {{}, {{{0, 2}}}}}; }

const OpDef kOps[] = {
    {.name = "input",
     .kind = OpKind::Structure,
     .doc = "A parameter of the graph.",
     .role = Role::Input,
     .dtypes = kNoData,
     .infer = nullptr,
     .vjp = graph::zero_derivative("nothing comes before it"),
     .batch = graph::once_per_example("has no input to be batched")},
    {.name = "leaf",
     .kind = OpKind::Structure,
     .doc = "What a gradient is taken with respect to: its input, under a name of its own.",
     .role = Role::Leaf,
     .dtypes = kAnyType,
     .infer = infer_same,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy()); }),
     .batch = [](BatchCtx& c) { return std::move(c.inputs); },
     .view = view_whole,
     .cases = {.list = leaf_cases}},
    {.name = "sizes",
     .kind = OpKind::Structure,
     .doc = "Sizes as numbers: what the expressions come to in the call at hand.",
     .role = Role::Sizes,
     .dtypes = kNoData,
     .infer = infer_sizes,
     .vjp = graph::zero_derivative("sizes are whole numbers"),
     .batch = graph::once_per_example("has no input to be batched"),
     .range = [](const graph::RangeCtx&) { return graph::IntRange{-kLargestSize, kLargestSize}; }},
    {.name = "custom",
     .kind = OpKind::Structure,
     .doc = "A result whose derivative the program gives itself (custom-vjp): its first input; the others are what the "
            "rule needs.",
     .dtypes = kNoData,
     .infer = nullptr,
     .vjp = graph::not_differentiable("the node carries its own rule"),
     .batch = graph::once_per_example("its rule is a function of the program"),
     .view = view_whole},
};

}  // namespace

std::span<const OpDef> structure_ops() { return kOps; }

}  // namespace sheaf::ops
