// sin, cos, tan, atan and atan2 as straight-line scalar code (see scalar.h).
//
// Arguments are reduced to |r| <= pi/4 and a quadrant in two ways, of which each element takes one:
//   Cody-Waite: x - n pi/2 with pi/2 in three parts, for |x| up to kCodyWaiteMax. The result is r + lo, where lo is
//     what rounding took from r; without it sin near a multiple of pi loses half a unit.
//   Payne-Hanek: for larger x, the product of the mantissa with the bits of 2/pi that matter at x's exponent, in integers.
#pragma once

#include "loop/math/exp_log.h"
#include "loop/math/scalar.h"

namespace sheaf::loop::math {
namespace detail {

template <class B, class T>
struct TrigReduced {
  Scalar<B, T> r, lo;
  Scalar<B, BitsOf<T>> quadrant;  // only its low two bits count
};

template <class T>
struct TrigConstants;
template <>
struct TrigConstants<float> {
  static constexpr float kTwoOverPi = 0x1.45f306p-1f;
  static constexpr float kPiOver2Hi = 0x1.921fb6p+0f, kPiOver2Mid = -0x1.777a5cp-25f, kPiOver2Lo = -0x1.ee59dap-50f;
  static constexpr float kCodyWaiteMax = 1.05e5f;
  // (sin(r) - r) / r^3, (cos(r) - 1 + r^2/2) / r^4, (tan(r) - r) / r^3 in r^2 on [0, pi/4]; 2^-27.8, 2^-32.9, 2^-29.4
  static constexpr float kSin[] = {-0x1.555544p-3f, 0x1.1106c6p-7f, -0x1.991beap-13f};
  static constexpr float kCos[] = {0x1.55554ap-5f, -0x1.6c0c26p-10f, 0x1.99e706p-16f};
  static constexpr float kTan[] = {0x1.555560p-2f, 0x1.110da6p-3f, 0x1.bad87cp-5f, 0x1.5cc954p-6f,
                                   0x1.62b978p-7f, 0x1.9768bcp-14f, 0x1.1eb7a2p-8f};
};
template <>
struct TrigConstants<double> {
  static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  static constexpr double kPiOver2Hi = 0x1.921fb54442d18p+0, kPiOver2Mid = 0x1.1a62633145c07p-54,
                          kPiOver2Lo = -0x1.f1976b7ed8fbcp-110;
  static constexpr double kCodyWaiteMax = 0x1p48;
  // as above; 2^-57.9, 2^-63.9, 2^-59.9
  static constexpr double kSin[] = {-0x1.5555555555548p-3, 0x1.111111110f74dp-7,   -0x1.a01a019bec942p-13,
                                    0x1.71de35582947dp-19, -0x1.ae5e4de3cc40bp-26, 0x1.5d8c090cd226ap-33};
  static constexpr double kCos[] = {0x1.555555555554ap-5,   -0x1.6c16c16c14ef9p-10, 0x1.a01a019c750d6p-16,
                                    -0x1.27e4f7df7c1b9p-22, 0x1.1ee9cfdd817e2p-29,  -0x1.8fa074b289da0p-37};
  static constexpr double kTan[] = {0x1.555555555555ep-2,  0x1.11111111105c3p-3,   0x1.ba1ba1babfff4p-5,
                                    0x1.664f485cf8a93p-6,  0x1.226e3a87294b8p-7,   0x1.d6d2e6bac27acp-9,
                                    0x1.7db19ca803368p-10, 0x1.34bb907a11676p-11,  0x1.ff3652ae1f345p-13,
                                    0x1.5e508e3a0996dp-14, 0x1.1a3ff5efb7201p-14,  -0x1.afa9cdeeb191bp-16,
                                    0x1.98b030cc02d93p-15, -0x1.97f9a561c2113p-16, 0x1.49238ee3d95b6p-17};
};

template <class B, class T>
TrigReduced<B, T> reduce_cody_waite(Scalar<B, T> x) {
  using C = TrigConstants<T>;
  constexpr T kMagic = FloatFormat<T>::kRoundToInt;
  auto shifted = fma(x, C::kTwoOverPi, kMagic);
  auto n = shifted - kMagic;
  auto r0 = fma(n, -C::kPiOver2Hi, x);  // exact
  auto p = n * C::kPiOver2Mid, p_lo = fma(n, C::kPiOver2Mid, -p);
  auto r = r0 - p;
  auto lo = fma(n, -C::kPiOver2Lo, ((r0 - r) - p) - p_lo);  // r0 - r is exact: r0 has few bits where p is the larger
  return {r, lo, bits(shifted)};
}

// For finite |x| >= 2^16. With |x| = m 2^e, m an integer of 24 bits, frac(x / 2pi) = frac(m 2^(e-2) (2/pi)); bits of 2/pi
// above 2^(2-e) give whole turns, bits more than 64 places below that are too small to matter.
template <class B>
TrigReduced<B, float> reduce_payne_hanek(Scalar<B, float> x) {
  constexpr int32_t kTwoOverPi[] = {  // 2/pi shifted right by 9, so that the smallest exponent starts at bit 0
      int32_t(0x00517cc1u), int32_t(0xb727220au), int32_t(0x94fe13abu), int32_t(0xe8fa9a6eu), int32_t(0xe06db14au), int32_t(0xcc9e21c8u)};
  auto ix = bits(x);
  auto m = (ix & 0x7fffff) | 0x800000;
  auto start = (shr(ix, 23) & 255) - 143;  // first bit of the window; 0 to 111
  auto in_upper_half = (start & 64) != 0, in_odd_word = (start & 32) != 0;
  auto word = [&](int i) { return x.b->i32(kTwoOverPi[i]); };
  auto pick = [&](int i) {
    return Scalar<B, int32_t>(*x.b, x.b->select(in_upper_half.v, word(i + 2), word(i)));
  };
  auto p0 = pick(0), p1 = pick(1), p2 = pick(2), p3 = pick(3);
  auto w0 = select(in_odd_word, p1, p0), w1 = select(in_odd_word, p2, p1), w2 = select(in_odd_word, p3, p2);
  auto shift = start & 31, back = shift ^ 31;
  auto hi = (w0 << shift) | shr(shr(w1, 1), back);
  auto lo = (w1 << shift) | shr(shr(w2, 1), back);
  // The high word of m * hi:lo modulo 2^64; the product with lo needs its high half only, from 12-bit by 20-bit pieces.
  auto lo20 = shr(lo, 12);
  auto turns = m * hi + shr(shr(m, 12) * lo20, 8) + shr((m & 0xfff) * lo20, 20);  // of 2^-32 turn
  auto quadrant = shr(turns + 0x20000000, 30);
  auto r = to<float>(turns - (quadrant << 30)) * 0x1.921fb6p-30f;  // pi/2 2^-30
  auto is_negative = ix < 0;
  return {select(is_negative, -r, r), r.lit(0.0f), select(is_negative, -quadrant, quadrant)};
}

template <class B>
TrigReduced<B, float> reduce_trig(Scalar<B, float> x) {
  auto near = reduce_cody_waite(x);
  auto far = reduce_payne_hanek(x);
  auto is_near = abs(x) <= TrigConstants<float>::kCodyWaiteMax;
  return {select(is_near, near.r, far.r), select(is_near, near.lo, far.lo),
          select(is_near, near.quadrant, far.quadrant)};
}

template <class B>
TrigReduced<B, double> reduce_trig(Scalar<B, double> x) { return reduce_cody_waite(x); }

template <class B, class T>
Scalar<B, T> sin_reduced(Scalar<B, T> r, Scalar<B, T> lo) {
  auto s = r * r;
  return r + fma(estrin(s, TrigConstants<T>::kSin) * s, r, lo);
}

template <class B, class T>
Scalar<B, T> cos_reduced(Scalar<B, T> r, Scalar<B, T> lo) {
  auto s = r * r;
  return fma(fma(estrin(s, TrigConstants<T>::kCos), s, T(-0.5)), s, T(1));
}

// sin(x + quarter_turns pi/2).
template <class B, class T>
Scalar<B, T> sin_quadrant(Scalar<B, T> x, int quarter_turns) {
  auto [r, lo, q] = reduce_trig(x);
  q = q + BitsOf<T>(quarter_turns);
  auto y = select((q & BitsOf<T>(1)) != BitsOf<T>(0), cos_reduced(r, lo), sin_reduced(r, lo));
  y = as_float(bits(y) ^ ((q & BitsOf<T>(2)) << BitsOf<T>(sizeof(T) * 8 - 2)));
  return select(abs(x) < kInf<T>, y, kNaN<T>);
}

}  // namespace detail

template <class B, class T>
Scalar<B, T> sin(Scalar<B, T> x) { return select(x == T(0), x, detail::sin_quadrant(x, 0)); }  // keeps -0

template <class B, class T>
Scalar<B, T> cos(Scalar<B, T> x) { return detail::sin_quadrant(x, 1); }

// tan(r) as hi + lo; in odd quadrants -1/tan(r), with one Newton step that sees lo.
template <class B, class T>
Scalar<B, T> tan(Scalar<B, T> x) {
  auto [r, r_lo, q] = detail::reduce_trig(x);
  auto s = r * r;
  auto tail = fma(estrin(s, detail::TrigConstants<T>::kTan) * s, r, r_lo);
  auto hi = r + tail, lo = tail - (hi - r);
  auto inverse = T(-1) / hi;
  auto cot = fma(inverse, fma(lo, inverse, fma(hi, inverse, T(1))), inverse);
  auto y = select((q & BitsOf<T>(1)) != BitsOf<T>(0), cot, hi);
  return select(x == T(0), x, select(abs(x) < kInf<T>, y, kNaN<T>));
}

namespace detail {

template <class T>
struct AtanConstants;
template <>
struct AtanConstants<float> {
  static constexpr float kPiHi = 0x1.921fb6p+1f, kPiLo = -0x1.777a5cp-24f;
  // (atan(z) - z) / z^3 in z^2 on [0, 1]; 2^-25.8
  static constexpr float kPoly[] = {-0x1.5554dcp-2f, 0x1.9978eap-3f, -0x1.230a84p-3f, 0x1.b4deaap-4f,
                                    -0x1.35522ep-4f, 0x1.61f53cp-5f, -0x1.0c23e2p-6f, 0x1.7ec602p-9f};
};
template <>
struct AtanConstants<double> {
  static constexpr double kPiHi = 0x1.921fb54442d18p+1, kPiLo = 0x1.1a62633145c07p-53;
  // as above; 2^-57.6
  static constexpr double kPoly[] = {
      -0x1.5555555555526p-2, 0x1.9999999995550p-3, -0x1.249249237e3c1p-3, 0x1.c71c717f994afp-4, -0x1.745d11ab3b6aap-4,
      0x1.3b136678e8feep-4,  -0x1.110e503248160p-4, 0x1.e1bb9c05f9dd7p-5, -0x1.ae5e47e8b04ffp-5, 0x1.82da4fab22581p-5,
      -0x1.59a2af76a687ap-5, 0x1.2c2bd437cfe39p-5, -0x1.e9f2642965247p-6, 0x1.6833c3c5c3d61p-6, -0x1.c77f716524a1ep-7,
      0x1.d7a2c6d77f513p-8,  -0x1.7a23476aa94f4p-9, 0x1.b3dc2740bc506p-11, -0x1.3f1c726f79eaep-13,
      0x1.bbc532976ab80p-17};
};

// atan(z + lo) for z in [0, 1], where lo is what rounding took from z.
template <class B, class T>
Scalar<B, T> atan_unit(Scalar<B, T> z, Scalar<B, T> lo) {
  auto s = z * z;
  return z + fma(estrin(s, AtanConstants<T>::kPoly) * s, z, lo);
}

}  // namespace detail

template <class B, class T>
Scalar<B, T> atan(Scalar<B, T> x) {
  using C = detail::AtanConstants<T>;
  auto ax = abs(x);
  auto is_large = ax > T(1);
  auto y = detail::atan_unit(select(is_large, T(1) / ax, ax), x.lit(0));
  y = select(is_large, T(0.5) * C::kPiHi - (y - T(0.5) * C::kPiLo), y);
  return copysign(y, x);
}

// The angle of (x, y): the smaller of |x|, |y| over the larger, and the octant. Zeros have quotient 0
// and infinities 1.
template <class B, class T>
Scalar<B, T> atan2(Scalar<B, T> y, Scalar<B, T> x) {
  using C = detail::AtanConstants<T>;
  auto ax = abs(x), ay = abs(y);
  auto is_steep = ay > ax;
  auto num = select(is_steep, ax, ay), den = select(is_steep, ay, ax);
  auto quotient = select(den == T(0), T(0), select(num == kInf<T>, T(1), num / den));
  auto lo = fma(-quotient, den, num) / den;  // NaN where the quotient is one of those; it is exact then
  auto a = detail::atan_unit(quotient, select(abs(lo) < T(1), lo, T(0)));
  a = select(is_steep, T(0.5) * C::kPiHi - (a - T(0.5) * C::kPiLo), a);
  auto is_left = bits(x) < BitsOf<T>(0);
  a = copysign(select(is_left, C::kPiHi - (a - C::kPiLo), a), y);
  return select((x != x) | (y != y), x + y, a);
}

}  // namespace sheaf::loop::math
