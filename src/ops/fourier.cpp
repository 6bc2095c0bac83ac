// Discrete Fourier transforms along an axis, by the routine of routines/fft/args.h. Complex numbers are pairs in the
// last axis. Each of the three is linear, and its adjoint is another one of them.
#include <fmt/format.h>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "routines/fft/args.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;
using routines::FftKind;

constexpr graph::DTypes kWideFloats = graph::only(DType::F32) | graph::only(DType::F64);

Size half_of(Size n) { return floor_div(n, 2) + Size(1); }

std::vector<TensorType> infer_rfft(const InferCtx& c) {
  const TensorType& x = c.inputs[0];
  return {{x.dtype, {x.sizes[0], half_of(x.sizes[1]), x.sizes[2], 2}}};
}
std::vector<TensorType> infer_irfft(const InferCtx& c) {
  const TensorType& x = c.inputs[0];
  return {{x.dtype, {x.sizes[0], c.attrs.sizes("n")[0], x.sizes[2]}}};
}

// The input must be contiguous.
void lower(LowerCtx& c, FftKind kind, LowerCtx::V n) {
  const auto& x = c.in[0];
  c.b.call({x.buffer, c.out[0].buffer},
           routines::FftArgs<loop::CallArg>{x.dtype, kind, kind == FftKind::Complex && c.attrs.flag("inverse"),
                                            static_cast<routines::FftScale>(c.attrs.integer("scale")), x.sizes[0], n,
                                            x.sizes[2]});
}
void lower_fft(LowerCtx& c) { lower(c, FftKind::Complex, c.in[0].sizes[1]); }
void lower_rfft(LowerCtx& c) { lower(c, FftKind::FromReal, c.in[0].sizes[1]); }
void lower_irfft(LowerCtx& c) { lower(c, FftKind::ToReal, c.out[0].sizes[1]); }

// Weights for the elements of a half transform: `alone` for elements that are their own mirror image, else `mirrored`.
Operand weights(const Operand& like, Size n, double alone, double mirrored) {
  const Size half = half_of(n), pairs = n - half;
  return pad(full({like.dtype(), {1, pairs, 1, 1}}, mirrored), {0, 1, 0, 0}, {0, half - Size(1) - pairs, 0, 0},
             {0, 0, 0, 0}, alone);
}

void vjp_fft(VjpCtx& c) {
  c.grad(0, graph::apply(op("fft"), {c.dy()},
                         {{"inverse", !c.attrs().flag("inverse")}, {"scale", c.attrs().integer("scale")}}));
}
// The inverse counts every element twice except those that are alone; the transform counts each once.
void vjp_rfft(VjpCtx& c) {
  const Size n = c.x(0).size(1);
  c.grad(0, graph::apply(op("irfft"), {c.dy() * weights(c.dy(), n, 1, 0.5)},
                         {{"n", Sizes{n}}, {"scale", c.attrs().integer("scale")}}));
}
void vjp_irfft(VjpCtx& c) {
  const Size n = c.attrs().sizes("n")[0];
  c.grad(0, graph::apply(op("rfft"), {c.dy()}, {{"scale", c.attrs().integer("scale")}}) * weights(c.dy(), n, 1, 2));
}

// Along the first axis, several transforms at once, and empty arrays; a length with a large prime.
const std::vector<Dims>& shapes() {
  static const std::vector<Dims> all = {{1, 1, 1}, {2, 6, 1}, {1, 5, 3}, {0, 4, 1}, {2, 3, 0}, {1, 17, 1}, {1, 2, 19}};
  return all;
}
std::vector<TestCase> fft_cases(DType) {
  std::vector<TestCase> out;
  for (int64_t scale = 0; const Dims& s : shapes()) {
    for (bool inverse : {false, true})
      out.push_back({{{"inverse", inverse}, {"scale", scale}}, {{{s[0], s[1], s[2], 2}}}});
    scale = (scale + 1) % 3;
  }
  return out;
}
std::vector<TestCase> rfft_cases(DType) {
  std::vector<TestCase> out;
  for (int64_t scale = 0; const Dims& s : shapes()) {
    out.push_back({{{"scale", scale}}, {{s}}});
    scale = (scale + 1) % 3;
  }
  return out;
}
std::vector<TestCase> irfft_cases(DType) {
  std::vector<TestCase> out;
  for (int64_t scale = 0; const Dims& s : shapes()) {
    out.push_back({{{"n", Sizes{s[1]}}, {"scale", scale}}, {{{s[0], s[1] / 2 + 1, s[2], 2}}}});
    scale = (scale + 1) % 3;
  }
  return out;
}

const OpDef kOps[] = {
    {.name = "fft",
     .kind = OpKind::Ordered,
     .doc =
         "Fourier transform of complex numbers [outer, n, inner, 2] along axis 1, or `inverse`, which is not divided "
         "by n. `scale` is a routines::FftScale.",
     .dtypes = kWideFloats,
     .infer = infer_same,
     .vjp = differentiable(vjp_fft),
     .batch = batch_first_axis,
     .lower = lower_fft,
     .cases = {.list = fft_cases}},
    {.name = "rfft",
     .kind = OpKind::Ordered,
     .doc = "The first half, [outer, n / 2 + 1, inner, 2], of the Fourier transform of real numbers [outer, n, inner].",
     .dtypes = kWideFloats,
     .infer = infer_rfft,
     .vjp = differentiable(vjp_rfft),
     .batch = batch_first_axis,
     .lower = lower_rfft,
     .cases = {.list = rfft_cases}},
    {.name = "irfft",
     .kind = OpKind::Ordered,
     .doc = "The real numbers [outer, n, inner] whose transform begins with [outer, n / 2 + 1, inner, 2], times n.",
     .dtypes = kWideFloats,
     .infer = infer_irfft,
     .vjp = differentiable(vjp_irfft),
     .batch = batch_first_axis,
     .lower = lower_irfft,
     .cases = {.list = irfft_cases}},
};

}  // namespace

std::span<const OpDef> fourier_ops() { return kOps; }

}  // namespace sheaf::ops
