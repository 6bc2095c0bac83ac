// exp, exp2, expm1, tanh, sigmoid, log, log2, log1p as straight-line scalar code (see scalar.h). Polynomials are
// minimax fits with coefficients rounded to the working precision; their relative error is stated with them as 2^-k.
//
// The final scaling produces overflow and underflow; it multiplies by two powers of two, so that a denormal result is
// rounded once. Clamps are written as `select(x > c, c, x)` because that keeps a NaN.
#pragma once

#include <bit>
#include <limits>

#include "scalar/math/scalar.h"

namespace sheaf::scalar::math {

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
  static constexpr float kMax = 89.0f, kMin = -104.0f;     // exp is inf above and 0 below
  static constexpr float kMax2 = 129.0f, kMin2 = -151.0f;  // the same for exp2
  static constexpr float kMinusOneBelow = -18.0f;          // expm1 is -1 there
  static constexpr float kZeroBelow = -87.0f;              // decay is 0 below: it has no denormal results
  // (e^r - 1 - r) / r^2 on |r| <= ln2/2; 2^-25.9 relative to r
  static constexpr float kTail[] = {0x1.fffffep-2f, 0x1.5554a4p-3f, 0x1.555778p-5f, 0x1.123030p-7f, 0x1.6af13ap-10f};
  // ((2^r - 1) / r - ln2) / r on |r| <= 1/2; 2^-26.0 of 2^r
  static constexpr float kExp2[] = {0x1.ebfbe0p-3f, 0x1.c6aeccp-5f, 0x1.3b29b2p-7f, 0x1.5f49cep-10f, 0x1.44896ap-13f};
};
template <>
struct ExpConstants<double> {
  static constexpr double kLog2E = 0x1.71547652b82fep+0;
  static constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
  static constexpr double kMax = 710.0, kMin = -746.0;
  static constexpr double kMax2 = 1025.0, kMin2 = -1076.0;
  static constexpr double kMinusOneBelow = -38.0;
  static constexpr double kZeroBelow = -708.0;
  // as above; 2^-61.7 and 2^-64.3
  static constexpr double kTail[] = {0x1.0000000000000p-1,  0x1.5555555555559p-3,  0x1.5555555555559p-5,
                                     0x1.111111110f62cp-7,  0x1.6c16c16c14bf5p-10, 0x1.a01a01b01fbb7p-13,
                                     0x1.a01a01ae07d38p-16, 0x1.71ddf7b0d0352p-19, 0x1.27e4cc07dfb17p-22,
                                     0x1.af5ff325e3c42p-26, 0x1.1f8a80f546eafp-29};
  static constexpr double kExp2[] = {0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0cfp-5,  0x1.3b2ab6fba4e1fp-7,
                                     0x1.5d87fe78a25b5p-10, 0x1.430912f884b8fp-13, 0x1.ffcbfc753232bp-17,
                                     0x1.62c021df1f069p-20, 0x1.b524dc834e062p-24, 0x1.e4d0774c8bf1dp-28,
                                     0x1.ea02a4cddb6aep-32, 0x1.c2c17f41b1fc0p-36};
};

// p * 2^n for p near 1 and n in twice the exponent range of T; `shifted` is n + kRoundToInt. Rounds once, also if the
// result is denormal: part of the exponent is held back and multiplied last.
template <class B, class T>
Scalar<B, T> scale(Scalar<B, T> p, Scalar<B, T> shifted) {
  using F = FloatFormat<T>;
  constexpr BitsOf<T> kShift = F::kMantissaBits, kHeld = F::kBias / 2 + 1;
  constexpr auto power_of_two = [](BitsOf<T> n) { return std::bit_cast<T>((n + F::kBias) << kShift); };
  auto small = shifted < F::kRoundToInt;
  auto n = bits(shifted);
  auto power =
      as_float((n << kShift) + select(small, (F::kBias + kHeld) << kShift, n.lit((F::kBias - kHeld) << kShift)));
  return p * power * select(small, power_of_two(-kHeld), p.lit(power_of_two(kHeld)));
}

// x = n ln2 + r with |r| <= ln2/2 (a little more after rounding). `shifted` is n + kRoundToInt: n is in its low bits.
template <class B, class T>
struct ExpReduced {
  Scalar<B, T> r, shifted;
  Scalar<B, BitsOf<T>> n() const { return bits(shifted) - std::bit_cast<BitsOf<T>>(FloatFormat<T>::kRoundToInt); }
};
template <class B, class T>
ExpReduced<B, T> reduce_exp(Scalar<B, T> x) {
  using C = ExpConstants<T>;
  constexpr T kMagic = FloatFormat<T>::kRoundToInt;
  auto shifted = fma(x, C::kLog2E, kMagic);
  auto n = shifted - kMagic;
  auto r = fma(n, -C::kLn2Lo, fma(n, -C::kLn2Hi, x));
  return {r, shifted};
}

// e^r - 1 - r for |r| <= ln2/2.
template <class B, class T>
Scalar<B, T> exp_tail(Scalar<B, T> r) {
  return horner(r, ExpConstants<T>::kTail) * (r * r);
}

// e^r for |r| <= ln2/2.
template <class B, class T>
Scalar<B, T> exp_reduced(Scalar<B, T> r) {
  return fma(fma(horner(r, ExpConstants<T>::kTail), r, T(1)), r, T(1));
}

// 2^r for |r| <= 1/2.
template <class B, class T>
Scalar<B, T> exp2_reduced(Scalar<B, T> r) {
  using C = ExpConstants<T>;
  return fma(fma(horner(r, C::kExp2), r, C::kLn2Hi), r, T(1));
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
  auto reduced = detail::reduce_exp(detail::clamp(x, C::kMin, C::kMax));
  return detail::scale(detail::exp_reduced(reduced.r), reduced.shifted);
}

// e^x for x at most slightly above 0, flushed to 0 for x below kZeroBelow: for the weights of attention. Needs no
// clamps and no two-step scaling.
template <class B, class T>
Scalar<B, T> decay(Scalar<B, T> x) {
  auto [r, shifted] = detail::reduce_exp(x);
  return select(x < detail::ExpConstants<T>::kZeroBelow, T(0), detail::exp_reduced(r) * pow2_shifted(shifted));
}

template <class B, class T>
Scalar<B, T> exp2(Scalar<B, T> x) {
  using C = detail::ExpConstants<T>;
  constexpr T kMagic = FloatFormat<T>::kRoundToInt;
  x = detail::clamp(x, C::kMin2, C::kMax2);
  auto shifted = x + kMagic;
  auto r = x - (shifted - kMagic);
  return detail::scale(detail::exp2_reduced(r), shifted);
}

// 2^n tail + (2^n r + (2^n - 1)), in this order because the inner sum is nearly exact; computed as twice the half, so
// that 2^n itself may be out of range.
template <class B, class T>
Scalar<B, T> expm1(Scalar<B, T> x) {
  using C = detail::ExpConstants<T>;
  auto reduced = detail::reduce_exp(detail::clamp(x, C::kMinusOneBelow, C::kMax));
  auto r = reduced.r;
  auto n = reduced.n();
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
template <>
struct TanhConstants<double> {
  static constexpr double kSmall = 0.6, kOneAbove = 20.0;
  // as above; 2^-57.2
  static constexpr double kPoly[] = {-0x1.5555555555521p-2,  0x1.111111110d0d8p-3,  -0x1.ba1ba1b6b0d6fp-5,
                                     0x1.664f47c89a003p-6,   -0x1.226e1e47d627ep-7, 0x1.d6d032e70c452p-9,
                                     -0x1.7d7390c1a50fap-10, 0x1.33af3e482c8b1p-11, -0x1.e1b3213358770p-13,
                                     0x1.491472b4f546ap-14,  -0x1.18b6bebb9c469p-16};
};
}  // namespace detail

// A polynomial near 0; elsewhere 1 - 2 / (e^2|x| + 1): the subtraction halves the error of exp.
template <class B, class T>
Scalar<B, T> tanh(Scalar<B, T> x) {
  using C = detail::TanhConstants<T>;
  auto ax = abs(x);
  auto clamped = select(ax > C::kOneAbove, C::kOneAbove, ax);
  // Reduces without the low part of ln2, which is less than a tenth of an ulp here.
  constexpr T kMagic = FloatFormat<T>::kRoundToInt, kTwice = 2 * detail::ExpConstants<T>::kLog2E;
  auto shifted = fma(clamped, kTwice, kMagic);
  auto r = fma(shifted - kMagic, -detail::ExpConstants<T>::kLn2Hi, clamped + clamped);
  auto large = T(1) - T(2) / fma(detail::exp_reduced(r), pow2_shifted(shifted), T(1));
  auto s = x * x;
  auto small = fma(horner(s, C::kPoly) * s, ax, ax);
  return copysign(select(ax < C::kSmall, small, large), x);
}

// 1 / (1 + e^-x). From kOneAbove on the sum is 1; at kZeroBelow the power is infinite and the result 0 instead of a
// denormal number.
template <class B, class T>
Scalar<B, T> sigmoid(Scalar<B, T> x) {
  constexpr T kOneAbove = std::is_same_v<T, float> ? 20 : 40,
              kZeroBelow = std::is_same_v<T, float> ? T(-88.8) : T(-709.9);
  auto [r, shifted] = detail::reduce_exp(-detail::clamp(x, kZeroBelow, kOneAbove));
  return T(1) / fma(detail::exp_reduced(r), pow2_shifted(shifted), T(1));
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
template <>
struct LogConstants<double> {
  static constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
  static constexpr double kLog2EHi = 0x1.71547652b82fep+0, kLog2ELo = 0x1.777d0ffda0d24p-56;
  static constexpr int64_t kCut = 0x3fe8000000000000;
  // 2 (atanh(s) / s - 1) / s^2 in s^2 on [0, 0.2]; 2^-61.7
  static constexpr double kPoly[] = {0x1.555555555554fp-1, 0x1.999999999c13fp-2, 0x1.24924921e7e78p-2,
                                     0x1.c71c748c77f35p-3, 0x1.745c4ba42ae03p-3, 0x1.3b35a6d8455efp-3,
                                     0x1.0dcd4e5a7dd7ap-3, 0x1.1b75d74ee3a52p-3};
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
// In double the series in f needs twenty terms; with s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - s f + (2 atanh(s) -
// 2s) needs eight. Written around f^2/2 because f - s f would lose bits.
template <class B>
Scalar<B, double> log1p_tail(Scalar<B, double> f) {
  auto s = f / (f + 2.0);
  auto z = s * s;
  auto half_square = f * f * 0.5;
  return fma(s, fma(estrin(z, LogConstants<double>::kPoly), z, half_square), -half_square);
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
template <class B, class T>
Scalar<B, T> log1p(Scalar<B, T> x) {
  using C = detail::LogConstants<T>;
  constexpr auto kBits = BitsOf<T>(FloatFormat<T>::kMantissaBits);
  auto e = sar(bits(x + T(1)) - C::kCut, kBits);
  auto scale = pow2<T>(BitsOf<T>(2) - e) * T(0.25);  // 2^-e; denormal for the largest x
  auto f = fma(x, scale, scale - T(1));
  auto k = to<T>(e);
  auto y = fma(k, C::kLn2Hi, f + fma(k, C::kLn2Lo, detail::log1p_tail(f)));
  y = select(x > T(-1), y, select(x == T(-1), -kInf<T>, x.lit(kNaN<T>)));
  return select((x == kInf<T>) | (x == T(0)), x, y);
}

}  // namespace sheaf::scalar::math
