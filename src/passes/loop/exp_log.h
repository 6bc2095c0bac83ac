// exp, exp2, expm1, tanh, log, log2, log1p as straight-line scalar code (see scalar.h). Polynomials are minimax fits with
// coefficients rounded to the working precision; their relative error is stated beside them as 2^-k.
//
// Overflow and underflow come out of the final scaling, which is done in two halves so that a denormal result is rounded
// once. Clamps are written as `select(x > c, c, x)` because that keeps a NaN.
#pragma once

#include <bit>
#include <limits>

#include "passes/loop/scalar.h"

namespace sheaf::passes::math {

template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

namespace detail {

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float kLog2E = 0x1.715476p+0f, kLn2Hi = 0x1.62e430p-1f, kLn2Lo = -0x1.05c610p-29f;
  static constexpr float kMax = 89.0f, kMin = -104.0f;        // exp is inf above and 0 below
  static constexpr float kMax2 = 129.0f, kMin2 = -151.0f;     // the same for exp2
  static constexpr float kMinusOneBelow = -18.0f;             // expm1 is -1 there
  // (e^r - 1 - r) / r^2 on |r| <= ln2/2; 2^-25.9 relative to r
  static constexpr float kTail[] = {0x1.fffffep-2f, 0x1.5554a4p-3f, 0x1.555778p-5f, 0x1.123030p-7f, 0x1.6af13ap-10f};
  // ((2^r - 1) / r - ln2) / r on |r| <= 1/2; 2^-26.0 of 2^r
  static constexpr float kExp2[] = {0x1.ebfbe0p-3f, 0x1.c6aeccp-5f, 0x1.3b29b2p-7f, 0x1.5f49cep-10f, 0x1.44896ap-13f};
};

// p * 2^n for n in the range of exponents of T doubled, p near 1: one rounding, also where the result is denormal.
template <class B, class T>
Scalar<B, T> scale(Scalar<B, T> p, Scalar<B, BitsOf<T>> n) {
  auto half = sar(n, 1);
  return p * pow2<T>(half) * pow2<T>(n - half);
}

// x = n ln2 + r with |r| <= ln2/2 (a little more after rounding). The sum with kRoundToInt leaves n in the low bits.
template <class B, class T>
struct ExpReduced {
  Scalar<B, T> r;
  Scalar<B, BitsOf<T>> n;
};
template <class B, class T>
ExpReduced<B, T> reduce_exp(Scalar<B, T> x) {
  using C = ExpConstants<T>;
  constexpr T kMagic = FloatFormat<T>::kRoundToInt;
  auto shifted = fma(x, C::kLog2E, kMagic);
  auto n = shifted - kMagic;
  auto r = fma(n, -C::kLn2Lo, fma(n, -C::kLn2Hi, x));
  return {r, bits(shifted) - std::bit_cast<BitsOf<T>>(kMagic)};
}

// e^r - 1 - r for |r| <= ln2/2.
template <class B, class T>
Scalar<B, T> exp_tail(Scalar<B, T> r) {
  return estrin(r, ExpConstants<T>::kTail) * (r * r);
}

// e^r for |r| <= ln2/2.
template <class B, class T>
Scalar<B, T> exp_reduced(Scalar<B, T> r) {
  return fma(estrin(r, ExpConstants<T>::kTail), r * r, r) + T(1);
}

// 2^r for |r| <= 1/2. The leading coefficient is added last: Estrin's pairing would round it twice.
template <class B, class T>
Scalar<B, T> exp2_reduced(Scalar<B, T> r) {
  using C = ExpConstants<T>;
  return fma(fma(estrin(r, C::kExp2), r, C::kLn2Hi), r, T(1));
}

template <class B, class T>
Scalar<B, T> clamp(Scalar<B, T> x, T lo, T hi) {
  x = select(x > hi, hi, x);
  return select(x < lo, lo, x);
}

}  // namespace detail

template <class B, class T>
Scalar<B, T> exp(Scalar<B, T> x) {
  using C = detail::ExpConstants<T>;
  auto [r, n] = detail::reduce_exp(detail::clamp(x, C::kMin, C::kMax));
  return detail::scale(detail::exp_reduced(r), n);
}

template <class B, class T>
Scalar<B, T> exp2(Scalar<B, T> x) {
  using C = detail::ExpConstants<T>;
  constexpr T kMagic = FloatFormat<T>::kRoundToInt;
  x = detail::clamp(x, C::kMin2, C::kMax2);
  auto shifted = x + kMagic;
  auto r = x - (shifted - kMagic);
  return detail::scale(detail::exp2_reduced(r), bits(shifted) - std::bit_cast<BitsOf<T>>(kMagic));
}

// 2^n tail + (2^n r + (2^n - 1)), in this order because the inner sum is nearly exact; computed as twice the half, so that
// 2^n may exceed the range.
template <class B, class T>
Scalar<B, T> expm1(Scalar<B, T> x) {
  using C = detail::ExpConstants<T>;
  auto [r, n] = detail::reduce_exp(detail::clamp(x, C::kMinusOneBelow, C::kMax));
  auto tail = detail::exp_tail(r);
  auto half = pow2<T>(n - 1);
  auto y = fma(tail, half, fma(r, half, half - T(0.5)));
  y = select(n == BitsOf<T>(0), r + tail, y + y);
  return select(x == T(0), x, y);  // keeps -0
}

namespace detail {
template <class T>
struct TanhConstants;
template <>
struct TanhConstants<float> {
  static constexpr float kSmall = 0.6f, kOneAbove = 10.0f;
  // (tanh(x) - x) / x^3 in x^2 on [0, 0.61]; 2^-28.1
  static constexpr float kPoly[] = {-0x1.55553ap-2f, 0x1.1108cap-3f, -0x1.b87710p-5f, 0x1.53c024p-6f, -0x1.7d7e8ep-8f};
};
}  // namespace detail

// A polynomial near 0; elsewhere 1 - 2 / (e^2|x| + 1), where the error of exp is halved by the subtraction.
template <class B, class T>
Scalar<B, T> tanh(Scalar<B, T> x) {
  using C = detail::TanhConstants<T>;
  auto ax = abs(x);
  auto clamped = select(ax > C::kOneAbove, C::kOneAbove, ax);
  auto [r, n] = detail::reduce_exp(clamped + clamped);
  auto e = detail::exp_reduced(r) * pow2<T>(n);
  auto large = T(1) - T(2) / (e + T(1));
  auto s = x * x;
  auto small = fma(estrin(s, C::kPoly) * s, ax, ax);
  return copysign(select(ax < C::kSmall, small, large), x);
}

namespace detail {

template <class T>
struct LogConstants;
template <>
struct LogConstants<float> {
  static constexpr float kLn2Hi = 0x1.62e430p-1f, kLn2Lo = -0x1.05c610p-29f;
  static constexpr float kLog2EHi = 0x1.715476p+0f, kLog2ELo = 0x1.4ae0c0p-26f;
  static constexpr int32_t kCut = 0x3f400000;  // 0.75: the mantissa is taken in [0.75, 1.5)
  // (log(1 + f) - f + f^2/2) / f^3 on [-1/4, 1/2]; 2^-26.6
  static constexpr float kPoly[] = {0x1.5555a4p-2f, -0x1.00002cp-2f, 0x1.9968c4p-3f, -0x1.54f5aap-3f,
                                    0x1.289f46p-3f, -0x1.0d553ep-3f, 0x1.aa02dcp-4f, -0x1.6bfacap-5f};
};

// x = 2^e (1 + f) with f in [-1/4, 1/2), for positive finite x, denormals too.
template <class B, class T>
struct LogReduced {
  Scalar<B, T> f, e;
};
template <class B, class T>
LogReduced<B, T> reduce_log(Scalar<B, T> x) {
  constexpr auto kBits = BitsOf<T>(FloatFormat<T>::kMantissaBits);
  auto is_denormal = x < FloatFormat<T>::kMinNormal;
  auto ix = bits(select(is_denormal, x * T(BitsOf<T>(1) << kBits), x));
  auto k = sar(ix - LogConstants<T>::kCut, kBits);
  auto f = as_float(ix - (k << kBits)) - T(1);
  return {f, to<T>(k - select(is_denormal, kBits, k.lit(0)))};
}

// log(1 + f) - f.
template <class B>
Scalar<B, float> log1p_tail(Scalar<B, float> f) {
  auto f2 = f * f;
  return fma(estrin(f, LogConstants<float>::kPoly) * f, f2, f2 * -0.5f);
}

// y = log(x) for positive finite x; -inf at 0, inf at inf, NaN below 0 and for NaN.
template <class B, class T>
Scalar<B, T> log_special(Scalar<B, T> x, Scalar<B, T> y) {
  y = select(x > T(0), y, select(x == T(0), -kInf<T>, x.lit(kNaN<T>)));
  return select(x == kInf<T>, x, y);
}

}  // namespace detail

template <class B, class T>
Scalar<B, T> log(Scalar<B, T> x) {
  using C = detail::LogConstants<T>;
  auto [f, e] = detail::reduce_log(x);
  auto y = fma(e, C::kLn2Hi, f + fma(e, C::kLn2Lo, detail::log1p_tail(f)));
  return detail::log_special(x, y);
}

// log2(x) = e + (f + tail) log2(e): the product with log2(e) keeps its low part, or results near 0 would lose bits.
template <class B, class T>
Scalar<B, T> log2(Scalar<B, T> x) {
  using C = detail::LogConstants<T>;
  auto [f, e] = detail::reduce_log(x);
  auto tail = detail::log1p_tail(f);
  auto hi = f + tail, lo = tail - (hi - f);
  auto p = hi * C::kLog2EHi;
  auto q = fma(lo, C::kLog2EHi, fma(hi, C::kLog2ELo, fma(hi, C::kLog2EHi, -p)));
  auto s = e + p;
  return detail::log_special(x, s + (p - (s - e) + q));
}

// With 1 + x = 2^e (1 + f): f = 2^-e x + (2^-e - 1), one rounding, none where e is 0.
template <class B>
Scalar<B, float> log1p(Scalar<B, float> x) {
  using C = detail::LogConstants<float>;
  auto e_bits = (bits(x + 1.0f) - C::kCut) & ~0x7fffff;
  auto scale = as_float(0x40800000 - e_bits) * 0.25f;  // 2^-e; denormal for the largest x
  auto f = fma(x, scale, scale - 1.0f);
  auto e = to<float>(e_bits) * 0x1p-23f;
  auto y = fma(e, C::kLn2Hi, f + fma(e, C::kLn2Lo, detail::log1p_tail(f)));
  y = select(x > -1.0f, y, select(x == -1.0f, -kInf<float>, x.lit(kNaN<float>)));
  return select((x == kInf<float>) | (x == 0.0f), x, y);
}

}  // namespace sheaf::passes::math
