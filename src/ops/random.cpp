#include "ops/random.h"

#include <cmath>
#include <numbers>

#include "loop/builder.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "scalar/math/threefry.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kFloats;
using graph::LowerCtx;
using graph::only;
using graph::OpKind;
using graph::ScalarCtx;
using graph::VjpCtx;
using graph::zero_derivative;
using loop::Builder;
using loop::kNoValue;
using V = uint32_t;

constexpr graph::Vjp kRandom = zero_derivative("random bits");

using Word = scalar::math::Scalar<Builder, uint32_t>;
using Words = scalar::math::Words<Builder>;

// Iterates over [keys, n]; `body` gets the position and its block of random words. Counters start at 0, or at the
// second input.
template <class F>
void for_each_draw(LowerCtx& c, V n, F&& body) {
  auto& b = c.b;
  V key = b.begin_loop(c.in[0].sizes[0], loop::Mark::Free);
  V k0 = c.load(c.in[0], {key, b.i64(0)}), k1 = c.load(c.in[0], {key, b.i64(1)});
  V first = c.in.size() == 1 ? kNoValue : c.load(c.in[1], {key});
  V i = b.begin_loop(n, loop::Mark::Vector);
  V counter = first == kNoValue ? i : b.add(first, i);
  V hi = b.convert(b.shr(counter, b.i64(32)), DType::U32), lo = b.convert(counter, DType::U32);
  body(key, i, scalar::math::threefry2x32(Word(b, k0), Word(b, k1), Word(b, hi), Word(b, lo)));
  b.end();
  b.end();
}

std::vector<TensorType> infer_threefry(const InferCtx& c) {
  return {{DType::U32, {c.inputs[0].sizes[0], c.attrs.sizes("n")[0], 2}}};
}

void lower_threefry(LowerCtx& c) {
  for_each_draw(c, c.out[0].sizes[1], [&](V key, V i, Words w) {
    c.store(c.out[0], {key, i, c.b.i64(0)}, w.first.v);
    c.store(c.out[0], {key, i, c.b.i64(1)}, w.second.v);
  });
}

std::vector<TensorType> infer_draw(const InferCtx& c) {
  return {{c.attrs.get<DType>("dtype"), {c.inputs[0].sizes[0], c.attrs.sizes("n")[0]}}};
}

// In [0, 1), with as many random bits as the mantissa has.
V unit_uniform(Words w, DType dtype) {
  switch (dtype) {
    case DType::F64: return scalar::math::unit_uniform(scalar::math::random_bits64(w)).v;
    case DType::BF16: return scalar::math::unit_uniform_bf16(scalar::math::random_bits32(w)).v;
    case DType::F16: return scalar::math::unit_uniform_f16(scalar::math::random_bits32(w)).v;
    default: return scalar::math::unit_uniform(scalar::math::random_bits32(w)).v;
  }
}

// Rounds an intermediate result to a narrow dtype: JAX rounds after every step.
V rounded(Builder& b, V x, DType dtype) {
  return compute_type(dtype) == dtype ? x : b.convert(b.convert(x, dtype), compute_type(dtype));
}

// sqrt(2) erfinv(v) with v uniform in (-1, 1): the lower end is the next number above -1, so v is never -1.
V normal(Builder& b, Words w, DType dtype) {
  double half_ulp = dtype == DType::F64    ? 0x1p-53
                    : dtype == DType::BF16 ? 0x1p-8
                    : dtype == DType::F16  ? 0x1p-11
                                           : 0x1p-24;
  DType t = compute_type(dtype);
  V low = b.number(t, half_ulp - 1), root2 = rounded(b, b.number(t, std::numbers::sqrt2), dtype);
  V v = b.max(rounded(b, b.add(b.mul(unit_uniform(w, dtype), b.number(t, 2)), low), dtype), low);
  return b.mul(root2, rounded(b, b.unary(loop::Op::ErfInv, v), dtype));
}

// -log(-log(u)), with u clamped to the smallest normal number.
V gumbel(Builder& b, Words w, DType dtype) {
  double least = dtype == DType::F64 ? 0x1p-1022 : dtype == DType::F16 ? 0x1p-14 : 0x1p-126;
  V u = b.max(unit_uniform(w, dtype), b.number(compute_type(dtype), least));
  return b.neg(b.unary(loop::Op::Log, b.neg(b.unary(loop::Op::Log, u))));
}

void lower_draw(LowerCtx& c) {
  const std::string& what = c.attrs.get<std::string>("what");
  DType dtype = c.out[0].dtype;
  for_each_draw(c, c.out[0].sizes[1], [&](V key, V i, Words w) {
    V y = what == "bits" ? (dtype == DType::I64 ? scalar::math::random_bits64(w).v : scalar::math::random_bits32(w).v)
          : what == "uniform" ? unit_uniform(w, dtype)
          : what == "normal"  ? normal(c.b, w, dtype)
                              : gumbel(c.b, w, dtype);
    c.store(c.out[0], {key, i}, y);
  });
}

// A batch of keys is more rows.
std::vector<Operand> batch_keys(BatchCtx& c) {
  std::vector<Operand> rows;
  stretch_to_batch(c);
  for (const Operand& x : c.inputs) {
    Sizes s = x.sizes();
    s[1] = s[0] * s[1];
    s.erase(s.begin());
    rows.push_back(reshape(x, s));
  }
  Operand y = graph::apply(c.op, rows, c.attrs);
  Sizes s = y.sizes();
  s[0] = floor_div(s[0], c.batch);
  s.insert(s.begin(), c.batch);
  return {reshape(y, s)};
}

// x mod s for unsigned numbers stored in i64. Halving makes x non-negative; twice the remainder of the half is below 2
// s.
V unsigned_mod64(Builder& b, V x, V s) {
  auto less = [&](V p, V q) { return b.lt(b.xor_(p, b.i64(INT64_MIN)), b.xor_(q, b.i64(INT64_MIN))); };
  V half = b.binary(loop::Op::FloorMod, b.shr(x, b.i64(1)), s);
  V twice = b.add(b.add(half, half), b.and_(x, b.i64(1)));
  V small = b.select(less(twice, s), twice, b.sub(twice, s));
  V large = b.select(less(x, s), x, b.sub(x, s));  // s >= 2^63
  return b.select(b.lt(s, b.i64(0)), large, small);
}

// (high * 2^bits + low) mod span, computed like jax.random.randint. A span of 0 means the whole range.
uint32_t scalar_offset(ScalarCtx& c) {
  auto& b = c.b;
  bool wide = c.type == DType::I64;
  V span = c.x[2], zero = wide ? b.i64(0) : b.u32(0);
  auto mod = [&](V x) { return wide ? unsigned_mod64(b, x, span) : b.binary(loop::Op::FloorMod, x, span); };
  V root = mod(wide ? b.i64(int64_t{1} << 32) : b.u32(1u << 16));
  V multiplier = mod(b.mul(root, root));
  V offset = mod(b.add(b.mul(mod(c.x[0]), multiplier), mod(c.x[1])));
  return b.select(b.eq(span, zero), c.x[1], offset);
}

// The maximum guards against rounding below lo. Uses a fused multiply-add, like compiled jax.random.uniform.
uint32_t scalar_between(ScalarCtx& c) {
  auto& b = c.b;
  DType dtype = c.attrs.get<DType>("dtype");
  V u = c.x[0], lo = c.x[1], span = rounded(b, b.sub(c.x[2], lo), dtype);
  return b.max(lo, dtype == DType::BF16 ? b.add(rounded(b, b.mul(u, span), dtype), lo) : b.fma(u, span, lo));
}

void vjp_between(VjpCtx& c) {
  Operand u = c.x(0);
  if (c.needs(0)) c.grad(0, c.dy() * (c.x(2) - c.x(1)));
  if (c.needs(1)) c.grad(1, c.dy() * (like(u, 1) - u));
  if (c.needs(2)) c.grad(2, c.dy() * u);
}

// Adjacent floats have adjacent bit patterns. A narrow dtype is computed in f32, with steps of its own spacing.
uint32_t scalar_next(ScalarCtx& c) {
  auto& b = c.b;
  DType dtype = c.attrs.get<DType>("dtype"), ints = dtype == DType::F64 ? DType::I64 : DType::I32;
  V step = b.number(ints, dtype == DType::BF16 ? 0x1p16 : dtype == DType::F16 ? 0x1p13 : 1);
  bool up = c.attrs.flag("up");
  V x = up ? c.x[0] : b.neg(c.x[0]), zero = b.number(c.type, 0), bits = b.bitcast(x, ints);
  V above = b.select(b.gt(x, zero), b.add(bits, step), b.sub(bits, step));
  above = b.select(b.eq(x, zero), step, above);
  V next = b.select(b.eq(x, b.number(c.type, HUGE_VAL)), x, b.bitcast(above, c.type));
  if (dtype == DType::F16) {
    // Near 0 the spacing is constant, and the last number below infinity is far from infinity in f32.
    next = b.select(b.le(b.abs(x), b.f32(0x1p-14f)), b.add(x, b.f32(0x1p-24f)), next);
    next = b.select(b.eq(x, b.number(c.type, -HUGE_VAL)), b.f32(-65504), next);
  }
  return up ? next : b.neg(next);
}

std::vector<graph::Attrs> own_dtype(DType d) { return {{{"dtype", d}}}; }
std::vector<graph::Attrs> down_and_up(DType d) { return {{{"dtype", d}, {"up", false}}, {{"dtype", d}, {"up", true}}}; }
// lo is well below hi: the result is clamped at lo.
constexpr graph::Domain kUnitAndBounds[][3] = {{{0.1, 0.9}, {-2, 0}, {1, 2}}};

constexpr std::pair<int64_t, int64_t> kTestDraws[] = {{1, 1}, {3, 5}, {0, 4}, {2, 0}, {1, 4099}};  // keys, numbers each
std::vector<TestCase> threefry_cases(DType) {
  std::vector<TestCase> out;
  for (auto [k, n] : kTestDraws)
    out.push_back({{{"n", Sizes{Size(n)}}},
                   {{{k, 2}, TestInput::Words, 0, 0, DType::U32}, {{k}, TestInput::Uniform, 0, 0x1p40, DType::I64}}});
  return out;
}
std::vector<TestCase> draw_cases(DType) {
  std::vector<TestCase> out;
  for (auto [k, n] : kTestDraws)
    for (const char* what : {"bits", "uniform", "normal", "gumbel"})
      for (DType d : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::U32, DType::I64})
        if (is_float(d) != (std::string(what) == "bits"))
          out.push_back({{{"what", std::string(what)}, {"dtype", d}, {"n", Sizes{Size(n)}}},
                         {{{k, 2}, TestInput::Words, 0, 0, DType::U32}}});
  return out;
}

const OpDef kOps[] = {
    {.name = "threefry",
     .kind = OpKind::Create,
     .doc = "Threefry-2x32 blocks under keys [K, 2] of the counters from start [K] on: [K, n, 2].",
     .dtypes = only(DType::U32),
     .infer = infer_threefry,
     .vjp = kRandom,
     .batch = batch_keys,
     .lower = lower_threefry,
     .cases = {.list = threefry_cases}},
    {.name = "draw",
     .kind = OpKind::Create,
     .doc = "Random bits, uniform, normal or Gumbel numbers under keys [K, 2]: [K, n].",
     .dtypes = only(DType::U32),
     .infer = infer_draw,
     .vjp = kRandom,
     .batch = batch_keys,
     .lower = lower_draw,
     .cases = {.list = draw_cases}},
    {.name = "offset_from_bits",
     .kind = OpKind::Elementwise,
     .doc = "An integer in [0, span) from two random words.",
     .dtypes = only(DType::U32) | only(DType::I64),
     .infer = infer_elementwise,
     .vjp = kRandom,
     .batch = batch_elementwise,
     .scalar = scalar_offset,
     .cases = {.inputs = 3}},
    {.name = "between",
     .kind = OpKind::Elementwise,
     .doc = "u in [0, 1) moved to [lo, hi).",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable(vjp_between),
     .batch = batch_elementwise,
     .scalar = scalar_between,
     .cases = {.inputs = 3, .smooth = kUnitAndBounds, .attrs = own_dtype}},
    {.name = "next_after",
     .kind = OpKind::Elementwise,
     .doc = "The next float above, or below.",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("moves by one unit in the last place"),
     .batch = batch_elementwise,
     .scalar = scalar_next,
     .cases = {.attrs = down_and_up}},
};

}  // namespace

Operand threefry(Operand key, Operand start, Size n) {
  Operand y = graph::apply(op("threefry"), {reshape(std::move(key), {1, 2}), reshape(std::move(start), {1})},
                           {{"n", Sizes{n}}});
  return reshape(y, {n, 2});
}

Operand draw(std::string what, Operand keys, Size n, DType dtype) {
  return graph::apply(op("draw"), {std::move(keys)}, {{"what", std::move(what)}, {"dtype", dtype}, {"n", Sizes{n}}});
}

Operand offset_from_bits(Operand high, Operand low, Operand span) {
  return graph::apply(op("offset_from_bits"), {std::move(high), std::move(low), std::move(span)});
}

Operand between(Operand u, Operand lo, Operand hi) {
  DType d = u.dtype();
  return graph::apply(op("between"), {std::move(u), std::move(lo), std::move(hi)}, {{"dtype", d}});
}

Operand next_after(Operand x, bool up) {
  DType d = x.dtype();
  return graph::apply(op("next_after"), {std::move(x)}, {{"dtype", d}, {"up", up}});
}

std::span<const OpDef> random_ops() { return kOps; }

}  // namespace sheaf::ops
