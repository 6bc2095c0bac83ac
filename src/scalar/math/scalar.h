// A statically typed wrapper of a scalar-code builder, so that the expansions of elementary functions read as formulas.
//
// `Scalar<B, T>` is one value of builder B whose element type is the C++ type T (float, double, int32_t, int64_t,
// uint32_t, bool). Operators append one builder operation each, in the order written: `a * b + c` is a product and a
// sum, never a fused multiply-add, which is spelt `fma(a, b, c)`. A plain number combined with a Scalar becomes a
// constant of its type.
//
// Interface of B (all operations are pure, total, and give the same bits on every back end):
//   using V (copyable), Type; constants F32, F64, I32, I64, U32, U64, Bool of Type;
//   f32, f64, i32, i64, u32 (constants); add, sub, mul (integers wrap), div (IEEE; floats only here), fma (one
//   rounding); neg, abs, sqrt, floor, trunc, rint (half to even), min, max (the operand that is not NaN); lt, le, gt,
//   ge, eq (false on NaN), ne (true on NaN); and_, or_, xor_, not_; shl, shr (logical), sar (arithmetic); select,
//   seldom; bitcast_f32_i32, bitcast_i32_f32, bitcast_f64_i64, bitcast_i64_f64; convert(v, type): float to int
//   truncates and saturates (NaN gives 0), int to float rounds to nearest even
#pragma once

#include <cstdint>
#include <type_traits>

namespace sheaf::scalar::math {

// The type in which B stores a value of element type T; specialised by builders that use a C++ type for each.
template <class B, class T>
struct Kept {
  using type = typename B::V;
};

template <class B, class T>
struct Scalar {
  using V = typename Kept<B, T>::type;
  B* b;
  V v;

  Scalar(B& builder, V value) : b(&builder), v(value) {}

  static V constant_in(B& b, T c) {
    if constexpr (std::is_same_v<T, float>)
      return b.f32(c);
    else if constexpr (std::is_same_v<T, double>)
      return b.f64(c);
    else if constexpr (std::is_same_v<T, int32_t>)
      return b.i32(c);
    else if constexpr (std::is_same_v<T, int64_t>)
      return b.i64(c);
    else
      return b.u32(c);
  }
  Scalar lit(T c) const { return {*b, constant_in(*b, c)}; }

  friend Scalar operator+(Scalar x, Scalar y) { return {*x.b, x.b->add(x.v, y.v)}; }
  friend Scalar operator-(Scalar x, Scalar y) { return {*x.b, x.b->sub(x.v, y.v)}; }
  friend Scalar operator*(Scalar x, Scalar y) { return {*x.b, x.b->mul(x.v, y.v)}; }
  friend Scalar operator/(Scalar x, Scalar y) { return {*x.b, x.b->div(x.v, y.v)}; }
  friend Scalar operator&(Scalar x, Scalar y) { return {*x.b, x.b->and_(x.v, y.v)}; }
  friend Scalar operator|(Scalar x, Scalar y) { return {*x.b, x.b->or_(x.v, y.v)}; }
  friend Scalar operator^(Scalar x, Scalar y) { return {*x.b, x.b->xor_(x.v, y.v)}; }
  friend Scalar operator<<(Scalar x, Scalar y) { return {*x.b, x.b->shl(x.v, y.v)}; }
  friend Scalar operator-(Scalar x) { return {*x.b, x.b->neg(x.v)}; }
  friend Scalar operator~(Scalar x) { return {*x.b, x.b->not_(x.v)}; }
  friend Scalar operator!(Scalar x)
    requires(std::is_same_v<T, bool>)
  {
    return {*x.b, x.b->not_(x.v)};
  }

  friend Scalar operator+(Scalar x, T c) { return x + x.lit(c); }
  friend Scalar operator-(Scalar x, T c) { return x - x.lit(c); }
  friend Scalar operator*(Scalar x, T c) { return x * x.lit(c); }
  friend Scalar operator&(Scalar x, T c) { return x & x.lit(c); }
  friend Scalar operator|(Scalar x, T c) { return x | x.lit(c); }
  friend Scalar operator^(Scalar x, T c) { return x ^ x.lit(c); }
  friend Scalar operator<<(Scalar x, T c) { return x << x.lit(c); }
  friend Scalar operator+(T c, Scalar x) { return x.lit(c) + x; }
  friend Scalar operator-(T c, Scalar x) { return x.lit(c) - x; }
  friend Scalar operator*(T c, Scalar x) { return x.lit(c) * x; }
  friend Scalar operator/(T c, Scalar x) { return x.lit(c) / x; }

  friend Scalar<B, bool> operator<(Scalar x, Scalar y) { return {*x.b, x.b->lt(x.v, y.v)}; }
  friend Scalar<B, bool> operator<=(Scalar x, Scalar y) { return {*x.b, x.b->le(x.v, y.v)}; }
  friend Scalar<B, bool> operator>(Scalar x, Scalar y) { return {*x.b, x.b->gt(x.v, y.v)}; }
  friend Scalar<B, bool> operator>=(Scalar x, Scalar y) { return {*x.b, x.b->ge(x.v, y.v)}; }
  friend Scalar<B, bool> operator==(Scalar x, Scalar y) { return {*x.b, x.b->eq(x.v, y.v)}; }
  friend Scalar<B, bool> operator!=(Scalar x, Scalar y) { return {*x.b, x.b->ne(x.v, y.v)}; }
  friend Scalar<B, bool> operator<(Scalar x, T c) { return x < x.lit(c); }
  friend Scalar<B, bool> operator<=(Scalar x, T c) { return x <= x.lit(c); }
  friend Scalar<B, bool> operator>(Scalar x, T c) { return x > x.lit(c); }
  friend Scalar<B, bool> operator>=(Scalar x, T c) { return x >= x.lit(c); }
  friend Scalar<B, bool> operator==(Scalar x, T c) { return x == x.lit(c); }
  friend Scalar<B, bool> operator!=(Scalar x, T c) { return x != x.lit(c); }
};

template <class B, class T>
Scalar<B, T> fma(Scalar<B, T> x, Scalar<B, T> y, Scalar<B, T> z) {
  return {*x.b, x.b->fma(x.v, y.v, z.v)};
}
template <class B, class T>
Scalar<B, T> fma(Scalar<B, T> x, Scalar<B, T> y, std::type_identity_t<T> z) {
  return fma(x, y, x.lit(z));
}
template <class B, class T>
Scalar<B, T> fma(Scalar<B, T> x, std::type_identity_t<T> y, Scalar<B, T> z) {
  return fma(x, x.lit(y), z);
}
template <class B, class T>
Scalar<B, T> fma(Scalar<B, T> x, std::type_identity_t<T> y, std::type_identity_t<T> z) {
  return fma(x, x.lit(y), x.lit(z));
}
template <class B, class T>
Scalar<B, T> abs(Scalar<B, T> x) {
  return {*x.b, x.b->abs(x.v)};
}
template <class B, class T>
Scalar<B, T> sqrt(Scalar<B, T> x) {
  return {*x.b, x.b->sqrt(x.v)};
}
template <class B, class T>
Scalar<B, T> floor(Scalar<B, T> x) {
  return {*x.b, x.b->floor(x.v)};
}
template <class B, class T>
Scalar<B, T> trunc(Scalar<B, T> x) {
  return {*x.b, x.b->trunc(x.v)};
}
template <class B, class T>
Scalar<B, T> rint(Scalar<B, T> x) {
  return {*x.b, x.b->rint(x.v)};
}
template <class B, class T>
Scalar<B, T> min(Scalar<B, T> x, std::type_identity_t<T> c) {
  return {*x.b, x.b->min(x.v, x.lit(c).v)};
}
template <class B, class T>
Scalar<B, T> max(Scalar<B, T> x, std::type_identity_t<T> c) {
  return {*x.b, x.b->max(x.v, x.lit(c).v)};
}
template <class B, class T>
Scalar<B, T> min(Scalar<B, T> x, Scalar<B, T> y) {
  return {*x.b, x.b->min(x.v, y.v)};
}
template <class B, class T>
Scalar<B, T> max(Scalar<B, T> x, Scalar<B, T> y) {
  return {*x.b, x.b->max(x.v, y.v)};
}

// Right shifts: shr is logical, sar arithmetic.
template <class B, class T>
Scalar<B, T> shr(Scalar<B, T> x, Scalar<B, T> n) {
  return {*x.b, x.b->shr(x.v, n.v)};
}
template <class B, class T>
Scalar<B, T> shr(Scalar<B, T> x, std::type_identity_t<T> n) {
  return shr(x, x.lit(n));
}
template <class B, class T>
Scalar<B, T> sar(Scalar<B, T> x, std::type_identity_t<T> n) {
  return {*x.b, x.b->sar(x.v, x.lit(n).v)};
}

template <class B, class T>
Scalar<B, T> select(Scalar<B, bool> c, Scalar<B, T> x, Scalar<B, T> y) {
  return {*c.b, c.b->select(c.v, x.v, y.v)};
}
// c ? x : y for a c that is seldom true: x may be computed only if c is true.
template <class B, class T>
Scalar<B, T> seldom(Scalar<B, bool> c, Scalar<B, T> x, Scalar<B, T> y) {
  return {*c.b, c.b->seldom(c.v, x.v, y.v)};
}
template <class B, class T>
Scalar<B, T> select(Scalar<B, bool> c, std::type_identity_t<T> x, Scalar<B, T> y) {
  return select(c, y.lit(x), y);
}
template <class B, class T>
Scalar<B, T> select(Scalar<B, bool> c, Scalar<B, T> x, std::type_identity_t<T> y) {
  return select(c, x, x.lit(y));
}

// The integer type with the bits of a float type.
template <class T>
using BitsOf = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;

template <class B, class T>
Scalar<B, BitsOf<T>> bits(Scalar<B, T> x) {
  if constexpr (std::is_same_v<T, float>)
    return {*x.b, x.b->bitcast_f32_i32(x.v)};
  else
    return {*x.b, x.b->bitcast_f64_i64(x.v)};
}
template <class B>
Scalar<B, float> as_float(Scalar<B, int32_t> x) {
  return {*x.b, x.b->bitcast_i32_f32(x.v)};
}
template <class B>
Scalar<B, double> as_float(Scalar<B, int64_t> x) {
  return {*x.b, x.b->bitcast_i64_f64(x.v)};
}

template <class T, class B, class U>
Scalar<B, T> to(Scalar<B, U> x) {
  if constexpr (std::is_same_v<T, float>)
    return {*x.b, x.b->convert(x.v, B::F32)};
  else if constexpr (std::is_same_v<T, double>)
    return {*x.b, x.b->convert(x.v, B::F64)};
  else if constexpr (std::is_same_v<T, int32_t>)
    return {*x.b, x.b->convert(x.v, B::I32)};
  else if constexpr (std::is_same_v<T, int64_t>)
    return {*x.b, x.b->convert(x.v, B::I64)};
  else
    return {*x.b, x.b->convert(x.v, B::U32)};
}

// Facts about the float types that the expansions share.
template <class T>
struct FloatFormat;
template <>
struct FloatFormat<float> {
  static constexpr int kMantissaBits = 23;
  static constexpr int32_t kBias = 127;
  static constexpr int32_t kSignBit = INT32_MIN;
  static constexpr float kMinNormal = 0x1p-126f;
  static constexpr float kRoundToInt = 0x1.8p23f;  // adding it leaves the nearest integer in the low mantissa bits
};
template <>
struct FloatFormat<double> {
  static constexpr int kMantissaBits = 52;
  static constexpr int64_t kBias = 1023;
  static constexpr int64_t kSignBit = INT64_MIN;
  static constexpr double kMinNormal = 0x1p-1022;
  static constexpr double kRoundToInt = 0x1.8p52;
};

// 2^n for an integer n in the normal range.
template <class T, class B>
Scalar<B, T> pow2(Scalar<B, BitsOf<T>> n) {
  return as_float((n + FloatFormat<T>::kBias) << BitsOf<T>(FloatFormat<T>::kMantissaBits));
}

// 2^n for shifted = n + kRoundToInt, which has n in its low bits; the shift removes the other bits of the constant.
template <class B, class T>
Scalar<B, T> pow2_shifted(Scalar<B, T> shifted) {
  constexpr auto kShift = BitsOf<T>(FloatFormat<T>::kMantissaBits);
  return as_float((bits(shifted) << kShift) + (BitsOf<T>(FloatFormat<T>::kBias) << kShift));
}

// |magnitude| with the sign of `sign`.
template <class B, class T>
Scalar<B, T> copysign(Scalar<B, T> magnitude, Scalar<B, T> sign) {
  constexpr auto kSign = FloatFormat<T>::kSignBit;
  return as_float((bits(magnitude) & ~kSign) | (bits(sign) & kSign));
}

// c[0] + c[1] x + c[2] x^2 + …, one fused multiply-add per term: the fewest operations. Its long dependency chain does
// not matter when many elements are computed at once.
template <class B, class T, int N>
Scalar<B, T> horner(Scalar<B, T> x, const T (&c)[N]) {
  Scalar<B, T> r = x.lit(c[N - 1]);
  for (int i = N - 2; i >= 0; --i)
    r = fma(r, x, c[i]);
  return r;
}

namespace detail {
template <class B, class T>
Scalar<B, T> estrin_range(const Scalar<B, T>* powers, const T* c, int n) {
  if (n == 1) return powers[0].lit(c[0]);
  if (n == 2) return fma(powers[0], c[1], c[0]);
  int half = 1, level = 0;
  while (half * 2 < n)
    half *= 2, ++level;
  return fma(estrin_range(powers, c + half, n - half), powers[level], estrin_range(powers, c, half));
}
}  // namespace detail

// The same by Estrin's scheme: pairs first, so the dependency chain is short (log2 of the degree) and a vector unit
// stays busy; a little less accurate.
template <class B, class T, int N>
Scalar<B, T> estrin(Scalar<B, T> x, const T (&c)[N]) {
  Scalar<B, T> powers[5] = {x, x, x, x, x};  // x, x^2, x^4, x^8, x^16
  for (int level = 1; (1 << level) < N; ++level)
    powers[level] = powers[level - 1] * powers[level - 1];
  return detail::estrin_range(powers, c, N);
}

}  // namespace sheaf::scalar::math
