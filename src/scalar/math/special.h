// pow, erf and the inverse of erf as straight-line scalar code (see scalar.h).
#pragma once

#include "scalar/math/exp_log.h"
#include "scalar/math/scalar.h"

namespace sheaf::scalar::math {
namespace detail {

template <class T>
struct PowConstants;
template <>
struct PowConstants<float> {
  static constexpr float kTwoThirdsHi = 0x1.555556p-1f, kTwoThirdsLo = -0x1.555556p-26f;
  static constexpr int32_t kCut = 0x3f3504f3;  // sqrt(1/2)
  // 2 (atanh(q) / q - 1 - q^2/3) / q^4 in q^2 on [0, 0.1717]; 2^-35.8 of the logarithm
  static constexpr float kPoly[] = {0x1.999a00p-2f, 0x1.245278p-2f, 0x1.dfa3e4p-3f};
};
template <>
struct PowConstants<double> {
  static constexpr double kTwoThirdsHi = 0x1.5555555555555p-1, kTwoThirdsLo = 0x1.5555555555555p-55;
  static constexpr int64_t kCut = 0x3fe6a09e667f3bcd;
  // as above; 2^-79.8
  static constexpr double kPoly[] = {0x1.999999999999ap-2, 0x1.249249249246fp-2, 0x1.c71c71c722852p-3,
                                     0x1.745d1741763d2p-3, 0x1.3b13b314e0d51p-3, 0x1.1110939f6285bp-3,
                                     0x1.e20bae41d5915p-4, 0x1.aae8b10d0f164p-4, 0x1.c333f7bcc11aap-4};
};

template <class B, class T>
struct Pair {
  Scalar<B, T> hi, lo;
};

// log(x) for positive finite x as an unevaluated sum with about twelve more bits than T has, because pow multiplies its
// relative error by up to |y log x|. With x = 2^e m and q = (m - 1) / (m + 1), the terms 2q and (2/3) q^3 of
// 2 atanh(q) are computed as hi + lo pairs; the remaining terms are small enough for one T.
template <class B, class T>
Pair<B, T> log_extended(Scalar<B, T> x) {
  using C = PowConstants<T>;
  using L = LogConstants<T>;
  constexpr auto kBits = BitsOf<T>(FloatFormat<T>::kMantissaBits);
  auto is_denormal = x < FloatFormat<T>::kMinNormal;
  auto ix = bits(select(is_denormal, x * T(BitsOf<T>(1) << kBits), x));
  auto k = sar(ix - C::kCut, kBits);
  auto m = as_float(ix - (k << kBits));
  auto e = to<T>(k - select(is_denormal, kBits, k.lit(0)));

  auto f = m - T(1);
  auto d = m + T(1), d_lo = m - (d - T(1));
  auto inverse = T(1) / d;
  auto q = f * inverse;
  auto q_lo = fma(-q, d_lo, fma(-q, d, f)) * inverse;
  auto s = q * q, s_lo = fma(q + q, q_lo, fma(q, q, -s));
  auto c = s * q, c_lo = fma(s_lo, q, fma(s, q_lo, fma(s, q, -c)));  // q^3
  auto t = c * C::kTwoThirdsHi;
  auto t_lo = fma(c, C::kTwoThirdsLo, fma(c_lo, C::kTwoThirdsHi, fma(c, C::kTwoThirdsHi, -t)));
  auto tail = estrin(s, C::kPoly) * (c * s);

  auto two_q = q + q;
  auto sum = fma(e, L::kLn2Hi, two_q);
  auto sum_lo = two_q - fma(e, -L::kLn2Hi, sum);
  auto total = sum + t;
  auto total_lo = sum_lo + (t - (total - sum)) + (fma(e, L::kLn2Lo, q_lo + q_lo + t_lo) + tail);
  auto hi = total + total_lo;
  return {hi, total_lo - (hi - total)};
}

}  // namespace detail

// x^y = e^(y log|x|) with the sign and the special cases of C's pow.
template <class B, class T>
Scalar<B, T> pow(Scalar<B, T> x, Scalar<B, T> y) {
  using E = detail::ExpConstants<T>;
  auto ax = abs(x);
  auto [log_hi, log_lo] = detail::log_extended(ax);
  log_hi = select(ax == T(0), -kInf<T>, select(ax == kInf<T>, kInf<T>, log_hi));
  auto product = y * log_hi;
  auto product_lo = fma(y, log_lo, fma(y, log_hi, -product));
  // Beyond the range of exp the low part may be NaN (inf - inf), and is not used.
  auto is_ordinary = (product > E::kMin) & (product < E::kMax);
  auto reduced = detail::reduce_exp(detail::clamp(product, E::kMin, E::kMax));
  auto magnitude =
      detail::scale(detail::exp_reduced(reduced.r + select(is_ordinary, product_lo, T(0))), reduced.shifted);
  magnitude = select(ax == T(1), T(1), magnitude);  // also for infinite y

  auto half_y = y * T(0.5);
  auto is_integer = trunc(y) == y;
  auto is_odd = is_integer & (trunc(half_y) != half_y);
  auto is_negative = bits(x) < BitsOf<T>(0);
  auto result = select(is_odd & is_negative, -magnitude, magnitude);
  result = select((x < T(0)) & !is_integer & (ax != kInf<T>), kNaN<T>, result);
  result = select((x != x) | (y != y), kNaN<T>, result);
  return select((x == T(1)) | (y == T(0)), T(1), result);
}

namespace detail {
template <class T>
struct ErfConstants;
template <>
struct ErfConstants<float> {
  static constexpr float kSmall = 0.925f, kOneAbove = 4.0f;
  // erf(x) / x - 1 in x^2 on [0, 0.93]; 2^-25.8
  static constexpr float kPoly[] = {0x1.06eba6p-3f,  -0x1.8126e2p-2f, 0x1.ce1982p-4f,
                                    -0x1.b67ba0p-6f, 0x1.46d6ecp-8f,  -0x1.386616p-11f};
  // log2(erfc(x)) on [0.92, 4]; 2^-29.8 of erf
  static constexpr float kLog2Erfc[] = {0.0f,           -0x1.a0d7fap+0f, -0x1.d5292ep-1f, -0x1.39e426p-3f,
                                        0x1.18d4f2p-5f, -0x1.586236p-8f, 0x1.e84f88p-12f, -0x1.0fd1cap-16f};
};
template <>
struct ErfConstants<double> {
  static constexpr double kSmall = 0.995, kOneAbove = 6.0;
  // as above; 2^-56.9 and 2^-58.8
  static constexpr double kPoly[] = {0x1.06eba8214db68p-3,   -0x1.812746b0379bdp-2,  0x1.ce2f21a040d18p-4,
                                     -0x1.b82ce311fa9c2p-6,  0x1.565bccf92c2dfp-8,   -0x1.c02db03dfb54fp-11,
                                     0x1.f9a2baac3a9f4p-14,  -0x1.f4ca4d9ec8315p-17, 0x1.b97fd59abd316p-20,
                                     -0x1.5c07313c096bcp-23, 0x1.d71b536a29d08p-27,  -0x1.abaf0ceefdddfp-31};
  static constexpr double kLog2Erfc[] = {
      -0x1.fde262aa1eb6bp-23, -0x1.a0be5aea8c26dp+0,  -0x1.d6405ced771d9p-1, -0x1.2f962df93d7cap-3,
      0x1.c30a151bb5ff3p-6,   0x1.a051edd2a4b30p-12,  -0x1.4d6a222214042p-9, 0x1.e135d118dc7b1p-11,
      -0x1.f59b337a03fd4p-15, -0x1.b4d43c2f80765p-14, 0x1.1549504885419p-14, -0x1.964199a4c006fp-16,
      0x1.aa0d5c292eb4bp-18,  -0x1.4f70bafe9df8ap-20, 0x1.8d44ff06c6c39p-23, -0x1.59302d6d2d453p-26,
      0x1.a097f7bf1ae3dp-30,  -0x1.38597e74036d9p-34, 0x1.b6783ec975edep-40};
};
}  // namespace detail

// A polynomial near 0, elsewhere 1 - 2^p(|x|) where p is fitted to log2(erfc). Horner, because the terms of p
// alternate.
template <class B, class T>
Scalar<B, T> erf(Scalar<B, T> x) {
  using C = detail::ErfConstants<T>;
  constexpr T kMagic = FloatFormat<T>::kRoundToInt;
  auto ax = abs(x);
  auto small = fma(estrin(ax * ax, C::kPoly), ax, ax);
  auto p = horner(select(ax > C::kOneAbove, C::kOneAbove, ax), C::kLog2Erfc);
  auto shifted = p + kMagic;
  auto erfc = detail::exp2_reduced(p - (shifted - kMagic)) * pow2<T>(bits(shifted) - std::bit_cast<BitsOf<T>>(kMagic));
  return copysign(select(ax < C::kSmall, small, T(1) - erfc), x);
}

namespace detail {

// log(x) for normal x in (0, 1), NaN below 0, with XLA's errors (Cephes' logf, in Eigen's order): a difference of one
// unit here would become up to three in a normal random number. f64 uses our log: only f32 has to match XLA.
template <class B>
Scalar<B, float> log_as_xla(Scalar<B, float> x) {
  auto m = as_float((bits(x) & 0x007fffff) | 0x3f000000);
  auto e = to<float>(sar(bits(x), 23) - 126);
  auto is_low = m < 0.707106781186547524f;
  e = select(is_low, e - 1.0f, e);
  m = (m - 1.0f) + select(is_low, m, 0.0f);
  auto s = m * m, c = s * m;
  auto high = fma(fma(m, 7.0376836292e-2f, -1.1514610310e-1f), m, 1.1676998740e-1f);
  auto middle = fma(fma(m, -1.2420140846e-1f, 1.4249322787e-1f), m, -1.6668057665e-1f);
  auto low = fma(fma(m, 2.0000714765e-1f, -2.4999993993e-1f), m, 3.3333331174e-1f);
  auto y = fma(fma(fma(high, c, middle), c, low), c, e * -2.12194440e-4f);
  return select(x >= 0.0f, (fma(s, -0.5f, m) + y) + e * 0.693359375f, kNaN<float>);
}
template <class B>
Scalar<B, double> log_as_xla(Scalar<B, double> x) {
  return log1p(x - 1.0);
}

// log(1 + x) for x in [-1, 0] with XLA's errors, which erfinv must share to give JAX's numbers: beyond sqrt(2) - 1 it
// is log of the rounded sum, below that a rational function (Cephes) that was fitted to x > sqrt(1/2) - 1 and, in
// double, is wrong by up to 128 units where x is smaller.
template <class B, class T>
Scalar<B, T> log1p_as_xla(Scalar<B, T> x) {
  constexpr T kNumerator[] = {T(2.0039553499201281259648e1), T(5.7112963590585538103336e1),
                              T(6.0949667980987787057556e1), T(2.9911919328553073277375e1),
                              T(6.5787325942061044846969e0), T(4.9854102823193375972212e-1),
                              T(4.5270000862445199635215e-5)};
  constexpr T kDenominator[] = {T(6.0118660497603843919306e1),
                                T(2.1642788614495947685003e2),
                                T(3.0909872225312059774938e2),
                                T(2.2176239823732856465394e2),
                                T(8.3047565967967209469434e1),
                                T(1.5062909083469192043167e1),
                                T(1)};
  auto s = x * x;
  auto ratio = horner(x, kNumerator) / horner(x, kDenominator);
  auto small = x + (s * T(-0.5) + x * s * ratio);
  return select(abs(x) < T(0.41421356237309510), small, log_as_xla(x + T(1)));
}

}  // namespace detail

// The inverse of erf as XLA computes it, so that normal random numbers agree with JAX: Giles, "Approximating the erfinv
// function" (GPU Computing Gems, 2011), with w = -log(1 - x^2), x^2 rounded. Matches the bits of XLA's approximation,
// not the exact erfinv.
template <class B>
Scalar<B, float> erfinv(Scalar<B, float> x) {
  constexpr float kCentral[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  constexpr float kTail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                             -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
  auto w = -detail::log1p_as_xla(x * -x);
  auto polynomial = [&](auto t, const float (&k)[9]) {
    auto p = x.lit(k[0]);
    for (int i = 1; i < 9; ++i)
      p = fma(p, t, k[i]);
    return p;
  };
  auto p = seldom(w >= 5.0f, polynomial(sqrt(w) - 3.0f, kTail), polynomial(w - 2.5f, kCentral));
  return select(abs(x) == 1.0f, x * kInf<float>, p * x);
}

template <class B>
Scalar<B, double> erfinv(Scalar<B, double> x) {
  constexpr double kCentral[] = {
      -3.64441206401782e-21,   -1.6850591381820166e-19, 1.28584807152564e-18,    1.1157877678025181e-17,
      -1.3331716628546209e-16, 2.0972767875968562e-17,  6.6376381343583238e-15,  -4.0545662729752069e-14,
      -8.1519341976054722e-14, 2.6335093153082323e-12,  -1.2975133253453532e-11, -5.4154120542946279e-11,
      1.0512122733215323e-09,  -4.1126339803469837e-09, -2.9070369957882005e-08, 4.2347877827932404e-07,
      -1.3654692000834679e-06, -1.3882523362786469e-05, 0.00018673420803405714,  -0.000740702534166267,
      -0.0060336708714301491,  0.24015818242558962,     1.6536545626831027};
  constexpr double kMiddle[] = {
      2.2137376921775787e-09,  9.0756561938885391e-08, -2.7517406297064545e-07, 1.8239629214389228e-08,
      1.5027403968909828e-06,  -4.013867526981546e-06, 2.9234449089955446e-06,  1.2475304481671779e-05,
      -4.7318229009055734e-05, 6.8284851459573175e-05, 2.4031110387097894e-05,  -0.00035503752036284748,
      0.0009532893797373805,   -0.0016882755560235047, 0.0024914420961078508,   -0.0037512085075692412,
      0.0053709145535900636,   1.0052589676941592,     3.0838856104922208};
  constexpr double kTail[] = {-2.7109920616438573e-11, -2.5556418169965252e-10, 1.5076572693500548e-09,
                              -3.789465440126737e-09,  7.61570120807834e-09,    -1.496002662714924e-08,
                              2.9147953450901081e-08,  -6.7711997758452339e-08, 2.2900482228026655e-07,
                              -9.9298272942317e-07,    4.5260625972231537e-06,  -1.9681778105531671e-05,
                              7.5995277030017761e-05,  -0.00021503011930044477, -0.00013871931833623122,
                              1.0103004648645344,      4.8499064014085844};
  auto w = -detail::log1p_as_xla(x * -x);
  auto is_central = w < 6.25, is_middle = w < 16.0;
  auto t = select(is_central, w - 3.125, sqrt(w) - select(is_middle, 3.25, x.lit(5.0)));
  auto p = x.lit(0.0);
  // One Horner chain with selected coefficients; the shorter polynomials stop early.
  for (int i = 0; i < 23; ++i) {
    auto c = x.lit(kCentral[i]);
    if (i < 19) c = select(is_central, c, x.lit(kMiddle[i]));
    if (i < 17) c = select(is_middle, c, x.lit(kTail[i]));
    auto next = i == 0 ? c : fma(p, t, c);
    p = i < 17 ? next : i < 19 ? select(is_middle, next, p) : select(is_central, next, p);
  }
  return select(abs(x) == 1.0, x * kInf<double>, p * x);
}

}  // namespace sheaf::scalar::math
