// Nodes that shape a graph rather than compute.
#include "ops/emit.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::OpKind;
using graph::VjpCtx;

std::vector<TensorType> infer_same(const InferCtx& c) { return {c.inputs[0]}; }

const OpDef kOps[] = {
    {.name = "input", .kind = OpKind::Structure, .doc = "A parameter of the graph.", .infer = nullptr,
     .vjp = graph::zero_derivative("nothing comes before it")},
    {.name = "leaf", .kind = OpKind::Structure, .doc = "What a gradient is taken with respect to: its input, under a name of its own.",
     .infer = infer_same, .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy()); }),
     .batch = [](BatchCtx& c) { return c.inputs; },
     .view = [](const Tensor& t, const graph::Attrs&) -> std::optional<Tensor> { return t; }},
    {.name = "custom", .kind = OpKind::Structure, .doc = "A function whose derivative the program gives itself (custom-vjp).", .infer = nullptr,
     .vjp = graph::not_differentiable("the node carries its own rule")},
};

}  // namespace

std::span<const OpDef> structure_ops() { return kOps; }

}  // namespace sheaf::ops
