// sin, cos, tan, atan and atan2 as straight-line scalar code (see scalar.h).
//
// Arguments are reduced to |r| <= pi/4 and a quadrant in one of two ways, selected for each element:
//   Cody-Waite: x - n pi/2 with pi/2 in three parts, for |x| up to kCodyWaiteMax. The result is r + lo, where lo is the
//     rounding error of r; without it sin near a multiple of pi loses half a unit.
//   Payne-Hanek: for larger x, the integer product of the mantissa with the bits of 2/pi that are significant at x's
//     exponent.
#pragma once

#include <vector>

#include "scalar/math/exp_log.h"
#include "scalar/math/scalar.h"

namespace sheaf::scalar::math {
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
  // For Payne-Hanek: the exponent field of the smallest argument, and 2/pi in words, shifted right so that the window
  // of that argument starts at bit 0.
  static constexpr int32_t kFarExponent = 143;
  static constexpr uint32_t kTwoOverPiWords[] = {
      // shifted by 9
      0x00517cc1u, 0xb727220au, 0x94fe13abu, 0xe8fa9a6eu, 0xe06db14au, 0xcc9e21c8u};
  static constexpr float kTwoOverPi = 0x1.45f306p-1f;
  static constexpr float kPiOver2Hi = 0x1.921fb6p+0f, kPiOver2Mid = -0x1.777a5cp-25f, kPiOver2Lo = -0x1.ee59dap-50f;
  static constexpr float kCodyWaiteMax = 1.05e5f;
  // (sin(r) - r) / r^3, (cos(r) - 1 + r^2/2) / r^4, (tan(r) - r) / r^3 in r^2 on [0, pi/4]; 2^-27.8, 2^-32.9, 2^-29.4
  static constexpr float kSin[] = {-0x1.555544p-3f, 0x1.1106c6p-7f, -0x1.991beap-13f};
  static constexpr float kCos[] = {0x1.55554ap-5f, -0x1.6c0c26p-10f, 0x1.99e706p-16f};
  static constexpr float kTan[] = {0x1.555560p-2f, 0x1.110da6p-3f,  0x1.bad87cp-5f, 0x1.5cc954p-6f,
                                   0x1.62b978p-7f, 0x1.9768bcp-14f, 0x1.1eb7a2p-8f};
};
template <>
struct TrigConstants<double> {
  static constexpr int64_t kFarExponent = 1071;
  static constexpr uint64_t kTwoOverPiWords[] = {
      // shifted by 6
      0x028be60db9391054u, 0xa7f09d5f47d4d377u, 0x036d8a5664f10e41u, 0x07f9458eaf7aef15u, 0x86dc91b8e909374bu,
      0x801924bba8274648u, 0x73f877ac72c4a69cu, 0xfba208d7d4baed12u, 0x13a671c09ad17df9u, 0x04e64758e60d4ce7u,
      0xd272117e2ef7e4a0u, 0xec7fe25fff781660u, 0x3fbcbc462d6829b4u, 0x7db4d9fb3c9f2c26u, 0xdd3d18fd9a797fa8u,
      0xb5d49eeb1faf97c5u, 0xecf41ce7de294a4bu, 0xa9afed7ec47e3574u};
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

// For finite |x| of exponent kFarExponent or more. With |x| = m 2^e, m an integer, frac(x / 2pi) = frac(m 2^(e-2)
// (2/pi)); bits of 2/pi above 2^(2-e) contribute full turns only, and a window of two words below gives the angle
// within 2^-28 (2^-60 in double). Words are as wide as T.
template <class B, class T>
TrigReduced<B, T> reduce_payne_hanek(Scalar<B, T> x) {
  using C = TrigConstants<T>;
  using Int = BitsOf<T>;
  constexpr Int kWidth = sizeof(T) * 8, kBits = FloatFormat<T>::kMantissaBits;
  constexpr int kLevels = sizeof(T) == 4 ? 2 : 4;  // of the selection among words
  auto ix = bits(x);
  auto m = (ix & ((Int(1) << kBits) - 1)) | (Int(1) << kBits);
  auto start = (shr(ix, kBits) & (2 * FloatFormat<T>::kBias + 1)) - C::kFarExponent;  // first bit of the window

  std::vector<Scalar<B, Int>> words;
  for (auto w : C::kTwoOverPiWords)
    words.push_back(ix.lit(Int(w)));
  for (int level = kLevels - 1; level >= 0; --level) {
    auto is_set = (start & (kWidth << level)) != Int(0);
    int stride = 1 << level, remaining = 3 + stride - 1;
    for (int i = 0; i < remaining; ++i)
      words[i] = select(is_set, words[i + stride], words[i]);
  }
  auto shift = start & (kWidth - 1), back = shift ^ (kWidth - 1);
  auto hi = (words[0] << shift) | shr(shr(words[1], 1), back);
  auto lo = (words[1] << shift) | shr(shr(words[2], 1), back);

  // The high word of m * hi:lo, modulo the word size, in units of 2^-kWidth turn. Only the high word of the product
  // with lo is needed; it is computed from half-words without the product of the low halves: at most three units too
  // small.
  constexpr Int kHalf = kWidth / 2, kLowMask = (Int(1) << kHalf) - 1;
  auto m_hi = shr(m, kHalf), lo_hi = shr(lo, kHalf);
  auto turns = m * hi + m_hi * lo_hi + shr(m_hi * (lo & kLowMask), kHalf) + shr((m & kLowMask) * lo_hi, kHalf);
  auto quadrant = shr(turns + (Int(1) << (kWidth - 3)), kWidth - 2);
  // Adds half a unit for the truncated bits; this also keeps r from being 0, for which tan would compute 0 * inf.
  constexpr T kUnit = C::kPiOver2Hi / T(Int(1) << (kWidth - 2));
  auto r = (to<T>(turns - (quadrant << (kWidth - 2))) + T(0.5)) * kUnit;
  auto is_negative = ix < Int(0);
  return {select(is_negative, -r, r), r.lit(0), select(is_negative, -quadrant, quadrant)};
}

template <class B, class T>
TrigReduced<B, T> reduce_trig(Scalar<B, T> x) {
  auto near = reduce_cody_waite(x);
  auto far = reduce_payne_hanek(x);
  auto is_near = abs(x) <= TrigConstants<T>::kCodyWaiteMax;
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
Scalar<B, T> sin(Scalar<B, T> x) {
  return select(x == T(0), x, detail::sin_quadrant(x, 0));
}  // keeps -0

template <class B, class T>
Scalar<B, T> cos(Scalar<B, T> x) {
  return detail::sin_quadrant(x, 1);
}

// tan(r) as hi + lo; in odd quadrants -1/tan(r), with one Newton step that includes lo.
template <class B, class T>
Scalar<B, T> tan(Scalar<B, T> x) {
  auto [r, r_lo, q] = detail::reduce_trig(x);
  auto s = r * r;
  auto tail = estrin(s, detail::TrigConstants<T>::kTan) * s * r;
  auto t = r + tail;
  tail = tail + fma(r_lo, t * t, r_lo);  // tan' = 1 + tan^2
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
      -0x1.5555555555526p-2, 0x1.9999999995550p-3,  -0x1.249249237e3c1p-3,  0x1.c71c717f994afp-4,
      -0x1.745d11ab3b6aap-4, 0x1.3b136678e8feep-4,  -0x1.110e503248160p-4,  0x1.e1bb9c05f9dd7p-5,
      -0x1.ae5e47e8b04ffp-5, 0x1.82da4fab22581p-5,  -0x1.59a2af76a687ap-5,  0x1.2c2bd437cfe39p-5,
      -0x1.e9f2642965247p-6, 0x1.6833c3c5c3d61p-6,  -0x1.c77f716524a1ep-7,  0x1.d7a2c6d77f513p-8,
      -0x1.7a23476aa94f4p-9, 0x1.b3dc2740bc506p-11, -0x1.3f1c726f79eaep-13, 0x1.bbc532976ab80p-17};
};

// atan(z + lo) for z in [0, 1], where lo is the rounding error of z, or pi/2 minus that. The polynomial's part is
// subtracted last, since pi/2 - z is exact where it is below 1.
template <class B, class T>
Scalar<B, T> atan_unit(Scalar<B, T> z, Scalar<B, T> lo, Scalar<B, bool> from_vertical) {
  using C = AtanConstants<T>;
  auto s = z * z;
  auto tail = fma(estrin(s, C::kPoly) * s, z, lo);
  return select(from_vertical, (T(0.5) * C::kPiHi - z) - (tail - T(0.5) * C::kPiLo), z + tail);
}

}  // namespace detail

template <class B, class T>
Scalar<B, T> atan(Scalar<B, T> x) {
  auto ax = abs(x);
  auto is_steep = ax > T(1);
  return copysign(detail::atan_unit(select(is_steep, T(1) / ax, ax), x.lit(0), is_steep), x);
}

// The angle of (x, y): the smaller of |x|, |y| over the larger, and the octant. Zeros have quotient 0 and infinities 1.
template <class B, class T>
Scalar<B, T> atan2(Scalar<B, T> y, Scalar<B, T> x) {
  using C = detail::AtanConstants<T>;
  auto ax = abs(x), ay = abs(y);
  auto is_steep = ay > ax;
  auto num = select(is_steep, ax, ay), den = select(is_steep, ay, ax);
  auto quotient = select(den == T(0), T(0), select(num == kInf<T>, T(1), num / den));
  auto lo = fma(-quotient, den, num) / den;  // NaN for these quotients, which are exact
  auto a = detail::atan_unit(quotient, select(abs(lo) < T(1), lo, T(0)), is_steep);
  auto is_left = bits(x) < BitsOf<T>(0);
  a = copysign(select(is_left, C::kPiHi - (a - C::kPiLo), a), y);
  return select((x != x) | (y != y), x + y, a);
}

}  // namespace sheaf::scalar::math
