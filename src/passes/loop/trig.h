// sin, cos, tan, atan and atan2 as straight-line scalar code (see scalar.h).
//
// Arguments are reduced to |r| <= pi/4 and a quadrant in two ways, of which each element takes one:
//   Cody-Waite: x - n pi/2 with pi/2 in three parts, for |x| up to kCodyWaiteMax. The result is r + lo, where lo is
//     what rounding took from r; without it sin near a multiple of pi loses half a unit.
//   Payne-Hanek: for larger x, the product of the mantissa with the bits of 2/pi that matter at x's exponent, in integers.
#pragma once

#include "passes/loop/exp_log.h"
#include "passes/loop/scalar.h"

namespace sheaf::passes::math {
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

}  // namespace sheaf::passes::math
