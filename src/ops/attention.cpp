// Attention as one op, so that neither the forward nor the backward pass stores a T x S matrix; its VJP is another op.
// routines/attention/args.h defines the results to the bit. Rare gradients (of the mask, the scale, the gradient
// itself) are composed of other ops, and so have derivatives of every order.
#include <algorithm>
#include <array>
#include <cmath>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "routines/attention/args.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kFloats;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;

enum Input { kQ, kK, kV, kScale, kOffset, kWindow, kMask, kLse = 6, kDelta, kDy, kReverseMask };

void check_inputs(const InferCtx& c, size_t mask) {
  const auto &q = c.inputs[kQ], &k = c.inputs[kK], &v = c.inputs[kV];
  bool ok = q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && q.sizes[0] == k.sizes[0] && k.sizes[0] == v.sizes[0] &&
            k.sizes[1] == v.sizes[1] && k.sizes[2] == v.sizes[2] && q.sizes[3] == k.sizes[3] && q.dtype == k.dtype &&
            k.dtype == v.dtype;
  INVARIANT(ok, "attention of " << type_text(q) << ", " << type_text(k) << ", " << type_text(v));
  for (int i : {kScale, kOffset, kWindow}) {
    const auto& t = c.inputs[i];
    INVARIANT(t.rank() == 0 || (t.rank() == 1 && t.sizes[0] == q.sizes[0]),
              "attention: input " << i << " is " << type_text(t));
  }
  if (c.inputs.size() <= mask) return;
  const auto& m = c.inputs[mask];
  INVARIANT(m.sizes == (Sizes{q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2]}) &&
                (m.dtype == DType::Bool || m.dtype == q.dtype),
            "mask " << type_text(m));
}

std::vector<TensorType> infer_attention(const InferCtx& c) {
  check_inputs(c, kMask);
  const auto &q = c.inputs[kQ], &v = c.inputs[kV];
  return {{q.dtype, {q.sizes[0], q.sizes[2], q.sizes[1], v.sizes[3]}},
          {compute_type(q.dtype), {q.sizes[0], q.sizes[2], q.sizes[1]}}};
}

std::vector<TensorType> infer_attention_vjp(const InferCtx& c) {
  check_inputs(c, kReverseMask);
  std::vector<TensorType> out;
  for (int i : {kQ, kK, kV}) {
    const auto& t = c.inputs[i];
    out.push_back({t.dtype, {t.sizes[0], t.sizes[2], t.sizes[1], t.sizes[3]}});
  }
  return out;
}

// In the order of routines::AttentionArgs.
template <size_t rank>
std::array<loop::CallArg, rank> strides(const LowerCtx::Array& a) {
  std::array<loop::CallArg, rank> out;
  std::copy_n(a.strides.begin(), rank, out.begin());
  return out;
}

// The arguments common to attention and its VJP.
template <template <class> class Args>
Args<loop::CallArg> attention_args(LowerCtx& c, size_t mask) {
  const auto &q = c.in[kQ], &k = c.in[kK], &v = c.in[kV];
  auto along_batch = [&](int i) { return c.in[i].rank() ? loop::CallArg(c.in[i].strides[0]) : loop::CallArg(); };
  Args<loop::CallArg> a{};
  a.dtype = q.dtype;
  a.causal = c.attrs.flag("causal");
  a.mask = c.in.size() <= mask               ? routines::MaskKind::None
           : c.in[mask].dtype == DType::Bool ? routines::MaskKind::Bool
                                             : routines::MaskKind::Added;
  a.batch = q.sizes[0], a.heads = q.sizes[1], a.groups = k.sizes[1];
  a.rows = q.sizes[2], a.columns = k.sizes[2], a.depth = q.sizes[3], a.width = v.sizes[3];
  a.q = strides<4>(q), a.k = strides<4>(k), a.v = strides<4>(v);
  a.scale = along_batch(kScale), a.offset = along_batch(kOffset), a.window = along_batch(kWindow);
  if (a.mask != routines::MaskKind::None) a.mask_strides = strides<4>(c.in[mask]);
  return a;
}

std::vector<int32_t> all_buffers(const LowerCtx& c) {
  std::vector<int32_t> out;
  for (const auto& a : c.in)
    out.push_back(a.buffer);
  for (const auto& a : c.out)
    out.push_back(a.buffer);
  return out;
}

void lower(LowerCtx& c) { c.b.call(all_buffers(c), attention_args<routines::AttentionArgs>(c, kMask)); }
void lower_vjp(LowerCtx& c) {
  auto args = attention_args<routines::AttentionVjpArgs>(c, kReverseMask);
  args.lse = strides<3>(c.in[kLse]), args.delta = strides<3>(c.in[kDelta]), args.dy = strides<4>(c.in[kDy]);
  c.b.call(all_buffers(c), args);
}

Operand heads_first(Operand x) { return transpose(std::move(x), {0, 2, 1, 3}); }
Operand column(Operand x) { return expand_axis(transpose(std::move(x), {0, 2, 1}), 3); }  // [B, T, H] -> [B, H, T, 1]
// One value per batch element (or one for all), broadcast to [B, H, T, S].
Operand per_batch(Operand x) { return x.rank() == 0 ? x : reshape(x, {x.size(0), 1, 1, 1}); }

// [B, H, M, K] by [B, H, K, N].
Operand product(Operand a, Operand b) {
  Size heads = a.size(0) * a.size(1);
  Operand y = dot(reshape(a, {heads, a.size(2), a.size(3)}), reshape(b, {heads, b.size(2), b.size(3)}));
  return reshape(y, {a.size(0), a.size(1), a.size(2), b.size(3)});
}

// The intermediate values of the VJP: scores and weights as [B, H, T, S], in the compute type.
struct Written {
  Operand q, k, v, scale;  // k and v with one head for each of q's
  Operand raw, weights;    // q kᵀ without the scale; the weights
  Operand dp, ds;
  Size per_group;
  DType type;

  Operand all_heads(const Operand& x) const {
    Operand y = cast(x, type);
    if (per_group == Size(1)) return y;
    Sizes s = x.sizes();
    return reshape(broadcast_to(expand_axis(y, 2), {s[0], s[1], per_group, s[2], s[3]}),
                   {s[0], s[1] * per_group, s[2], s[3]});
  }
  Operand to_groups(const Operand& x) const {
    if (per_group == Size(1)) return x;
    return sum(reshape(x, {x.size(0), floor_div(x.size(1), per_group), per_group, x.size(2), x.size(3)}), {2});
  }

  // x(i): q, k, v, scale, offset, window; the mask is optional.
  Written(const std::vector<Operand>& x, const Operand& mask, bool causal, Operand lse, Operand delta, Operand dy) {
    type = compute_type(x[kQ].dtype());
    per_group = floor_div(x[kQ].size(1), x[kK].size(1));
    q = cast(x[kQ], type);
    k = all_heads(x[kK]);
    v = all_heads(x[kV]);
    scale = per_batch(x[kScale]);
    raw = product(q, swap_last_two(k));
    Operand s = raw * scale, seen = seen_by_position(x, causal);
    if (mask && mask.dtype() == DType::Bool) seen = apply2("bit_and", seen, mask);
    if (mask && mask.dtype() != DType::Bool) s = s + cast(mask, type);
    weights = apply1("exp", where(seen, s, constant(type, -HUGE_VAL)) - column(lse));
    dp = product(heads_first(cast(dy, type)), swap_last_two(v));
    ds = where(seen, weights * (dp - column(delta)), constant(type, 0));
  }

 private:
  static Operand seen_by_position(const std::vector<Operand>& x, bool causal) {
    constexpr int64_t kFar = int64_t{1} << 40;
    auto at_most = [](Operand a, int64_t limit) {
      return apply2("minimum", apply2("maximum", a, constant_int(DType::I64, -limit)), constant_int(DType::I64, limit));
    };
    Size rows = x[kQ].size(2), columns = x[kK].size(2);
    Operand position = reshape(iota(rows, DType::I64), {rows, 1}) + per_batch(at_most(x[kOffset], kFar));
    Operand at = iota(columns, DType::I64), window = per_batch(at_most(x[kWindow], 2 * kFar));
    Operand seen = apply2("bit_and", less(at, position + window), less(position, at + window));
    return causal ? apply2("bit_and", seen, less_equal(at, position)) : seen;
  }
};

std::vector<Operand> first_inputs(VjpCtx& c) {
  std::vector<Operand> x;
  for (int i = 0; i < 6; ++i)
    x.push_back(c.x(i));
  return x;
}

// Sums over all axes but the batch, or over the batch too if the scale is one number.
Operand scale_gradient(const Operand& terms, const Operand& scale) {
  return scale.rank() == 0 ? sum_all(terms) : sum(terms, {1, 2, 3});
}

void vjp_attention(VjpCtx& c) {
  DType type = compute_type(c.x(kQ).dtype());
  bool has_mask = c.num_inputs() > kMask;
  Operand dy = c.dy(0), lse = c.y(1), delta = sum(cast(dy, type) * cast(c.y(0), type), {3});
  if (c.has_dy(1)) delta = delta - c.dy(1);
  if (c.needs(kQ) || c.needs(kK) || c.needs(kV)) {
    std::vector<Operand> in = first_inputs(c);
    in.insert(in.end(), {lse, delta, dy});
    if (has_mask) in.push_back(c.x(kMask));
    std::vector<Operand> g = graph::apply_all(op("attention_vjp"), std::move(in), c.attrs());
    for (int i : {kQ, kK, kV})
      if (c.needs(i)) c.grad(i, heads_first(g[i]));
  }
  bool needs_mask = has_mask && c.needs(kMask);
  if (!needs_mask && !c.needs(kScale)) return;
  Written w(first_inputs(c), has_mask ? c.x(kMask) : Operand(), c.attrs().flag("causal"), lse, delta, dy);
  if (needs_mask) c.grad(kMask, cast(w.ds, c.x(kMask).dtype()));
  if (c.needs(kScale)) c.grad(kScale, scale_gradient(w.ds * w.raw, c.x(kScale)));
}

// With a_q, a_k, a_v the adjoints of dq = scale ds k, dk = scale dsᵀ q, dv = pᵀ dy: all depend on q, k, v, dy, lse,
// delta, through p = exp(s - lse), dp = dy vᵀ and ds = p (dp - delta), and directly:
//   adjoint of ds: g = scale (a_q kᵀ + q a_kᵀ); of p: (dp - delta) g + dy a_vᵀ; of s: p times that.
void vjp_attention_vjp(VjpCtx& c) {
  bool has_mask = c.num_inputs() > kReverseMask;
  Written w(first_inputs(c), has_mask ? c.x(kReverseMask) : Operand(), c.attrs().flag("causal"), c.x(kLse), c.x(kDelta),
            c.x(kDy));
  Operand a_q = heads_first(cast(c.dy(0), w.type)), a_k = w.all_heads(heads_first(c.dy(1))),
          a_v = w.all_heads(heads_first(c.dy(2)));
  Operand dy = heads_first(cast(c.x(kDy), w.type));
  Operand raw_g = product(a_q, swap_last_two(w.k)) + product(w.q, swap_last_two(a_k)), g = raw_g * w.scale;
  Operand h = w.weights * g;                                           // adjoint of dp
  Operand s = w.ds * g + w.weights * product(dy, swap_last_two(a_v));  // adjoint of the scores
  auto give = [&](int i, const Operand& x) { c.grad(i, cast(x, c.x(i).dtype())); };
  auto rows = [](const Operand& x) { return transpose(sum(x, {3}), {0, 2, 1}); };
  if (c.needs(kQ)) give(kQ, (product(s, w.k) + product(w.ds, a_k)) * w.scale);
  if (c.needs(kK))
    give(kK, w.to_groups((product(swap_last_two(s), w.q) + product(swap_last_two(w.ds), a_q)) * w.scale));
  if (c.needs(kV)) give(kV, w.to_groups(product(swap_last_two(h), dy)));
  if (c.needs(kScale)) c.grad(kScale, scale_gradient(s * w.raw + w.ds * raw_g, c.x(kScale)));
  if (c.needs(kLse)) c.grad(kLse, -rows(s));
  if (c.needs(kDelta)) c.grad(kDelta, -rows(h));
  if (c.needs(kDy)) give(kDy, heads_first(product(h, w.v) + product(w.weights, a_v)));
  if (has_mask && c.needs(kReverseMask)) give(kReverseMask, s);
}

// Merges the new axis into the batch.
std::vector<Operand> batch_attention(BatchCtx& c) {
  Size inner = c.inputs[kQ].size(c.batched[kQ] ? 1 : 0);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Operand& x = c.inputs[i];
    bool one_for_all = x.rank() == (c.batched[i] ? 1 : 0);
    if (one_for_all && !c.batched[i]) continue;
    if (one_for_all)
      x = expand_axis(x, 1);
    else if (!c.batched[i])
      x = expand_axis(x, 0);
    Sizes s = x.sizes();
    s[0] = c.batch;
    if (one_for_all) s[1] = inner;
    x = broadcast_to(x, s);
  }
  return apply_merged(c, inner);
}

std::vector<TestCase> attention_test_cases(DType dtype, bool reverse) {
  // Batch, query heads, key heads, rows, columns, features of q and k, features of v.
  struct Shape {
    int64_t b, h, g, t, s, d, e;
  };
  std::vector<TestCase> out;
  for (Shape s : {Shape{1, 1, 1, 1, 1, 1, 1},
                  {2, 1, 1, 3, 5, 2, 3},
                  {1, 4, 2, 2, 3, 3, 1},
                  {1, 2, 2, 0, 2, 2, 2},
                  {0, 1, 1, 2, 2, 2, 2},
                  {1, 1, 1, 18, 17, 5, 4}})
    for (int mask : {0, 1, 2})  // none, Bool, added
      for (bool causal : {false, true}) {
        if (mask && s.t > 5) continue;
        DType wide = compute_type(dtype);
        Dims each = s.b > 1 && mask == 1 ? Dims{s.b} : Dims{};  // scale, offset and window per batch element
        auto data = [](Dims sizes) { return TestInput{std::move(sizes), TestInput::Data, -1, 1}; };
        auto whole = [&](int64_t lo, int64_t hi) {
          return TestInput{each, TestInput::Uniform, static_cast<double>(lo), static_cast<double>(hi + 1), DType::I64};
        };
        // Every row must see some column, or its gradient is NaN.
        TestCase c{{{"causal", causal}},
                   {data({s.b, s.h, s.t, s.d}),
                    data({s.b, s.g, s.s, s.d}),
                    data({s.b, s.g, s.s, s.e}),
                    {each, TestInput::Data, 0.4, 0.9, wide},
                    whole(0, 1),
                    whole(s.t + 1, s.t + 4)}};
        if (reverse)
          c.inputs.insert(c.inputs.end(), {{{s.b, s.t, s.h}, TestInput::Data, 1, 2, wide},
                                           {{s.b, s.t, s.h}, TestInput::Data, -1, 1, wide},
                                           data({s.b, s.t, s.h, s.e})});
        if (mask == 1) c.inputs.push_back({{s.b, s.h, s.t, s.s}, TestInput::Mask});
        if (mask == 2) c.inputs.push_back(data({s.b, s.h, s.t, s.s}));
        out.push_back(std::move(c));
      }
  return out;
}
std::vector<TestCase> attention_cases(DType d) { return attention_test_cases(d, false); }
std::vector<TestCase> attention_vjp_cases(DType d) { return attention_test_cases(d, true); }

const OpDef kOps[] = {
    {.name = "attention",
     .kind = OpKind::Contract,
     .doc = "softmax(scale q kᵀ + mask) v by streaming over the columns, and the logarithm of each row's sum.",
     .dtypes = kFloats,
     .infer = infer_attention,
     .vjp = differentiable(vjp_attention),
     .batch = batch_attention,
     .lower = lower,
     .cases = {.list = attention_cases}},
    {.name = "attention_vjp",
     .kind = OpKind::Contract,
     .doc = "Adjoints of q, k and v of attention, from the scores computed again block by block.",
     .dtypes = kFloats,
     .infer = infer_attention_vjp,
     .vjp = differentiable(vjp_attention_vjp),
     .batch = batch_attention,
     .lower = lower_vjp,
     .cases = {.list = attention_vjp_cases}},
};

}  // namespace

std::span<const OpDef> attention_ops() { return kOps; }

}  // namespace sheaf::ops
