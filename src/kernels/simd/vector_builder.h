// A builder (see scalar/math/scalar.h) whose values are vectors of 16 bytes of floats, or of equally many elements of
// another type: computes the expansions of the elementary functions several elements at a time, with the bits of the
// scalar form. Uses explicit vectors because GCC does not vectorize loops over the expansions.
#pragma once
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "scalar/math/math_functions.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

template <class T, int lanes>
struct VecOf {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};

// F is float or double; a bool is a mask of integers as wide as F.
template <class F>
struct VectorBuilder {
  static constexpr int kLanes = 16 / sizeof(F);
  using Mask = std::conditional_t<sizeof(F) == 4, int32_t, int64_t>;
  template <class T>
  using Vec = typename VecOf<std::conditional_t<std::is_same_v<T, bool>, Mask, T>, kLanes>::type;
  using MaskVec = Vec<bool>;
  template <class T>
  using Tag = std::type_identity<T>;
  static constexpr Tag<float> F32{};
  static constexpr Tag<double> F64{};
  static constexpr Tag<int32_t> I32{};
  static constexpr Tag<int64_t> I64{};
  static constexpr Tag<uint32_t> U32{};

  template <class T>
  static Vec<T> splat(T x) {
    return x - Vec<T>{};
  }
  static Vec<float> f32(float x) { return splat(x); }
  static Vec<double> f64(double x) { return splat(x); }
  static Vec<int32_t> i32(int32_t x) { return splat(x); }
  static Vec<int64_t> i64(int64_t x) { return splat(x); }
  static Vec<uint32_t> u32(uint32_t x) { return splat(x); }

  template <class V>
  using Element = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
  template <class V>
  static constexpr bool kFloat = std::is_floating_point_v<Element<V>>;
  template <class V>
  using SignedVec = Vec<std::conditional_t<sizeof(Element<V>) == 4, int32_t, int64_t>>;
  template <class V>
  using UnsignedVec = typename VecOf<std::conditional_t<sizeof(Element<V>) == 4, uint32_t, uint64_t>, kLanes>::type;

  // One lane at a time, for operations without a vector form here.
  template <class R, class V, class Fn, class... Vs>
  static R by_lane(Fn f, V a, Vs... more) {
    R r;
    for (int l = 0; l < kLanes; ++l)
      r[l] = f(a[l], more[l]...);
    return r;
  }

  template <class V>
  static V add(V a, V b) {
    return a + b;
  }
  template <class V>
  static V sub(V a, V b) {
    return a - b;
  }
  template <class V>
  static V mul(V a, V b) {
    return a * b;
  }
  template <class V>
  static V div(V a, V b) {
    if constexpr (kFloat<V>)
      return a / b;
    else
      return by_lane<V>([](auto x, auto y) { return scalar::apply<scalar::Op::Div>(x, y); }, a, b);
  }
  template <class V>
  static V neg(V a) {
    return -a;
  }
  template <class V>
  static V abs(V a) {
    if constexpr (kFloat<V>)
      return V(SignedVec<V>(UnsignedVec<V>(a) << 1 >> 1));
    else
      return a < 0 ? -a : a;
  }

#if defined(__aarch64__)
#define SHEAF_FLOAT(name, f32_form, f64_form, op)                                    \
  template <class V>                                                                 \
  static V name(V a) {                                                               \
    if constexpr (sizeof(V) == 16 && sizeof(Element<V>) == 4)                        \
      return V(f32_form(float32x4_t(a)));                                            \
    else if constexpr (sizeof(V) == 16)                                              \
      return V(f64_form(float64x2_t(a)));                                            \
    else                                                                             \
      return by_lane<V>([](auto x) { return scalar::apply<scalar::Op::op>(x); }, a); \
  }
#define SHEAF_FLOAT2(name, f32_form, f64_form, op)                                                 \
  template <class V>                                                                               \
  static V name(V a, V b) {                                                                        \
    if constexpr (kFloat<V> && sizeof(V) == 16 && sizeof(Element<V>) == 4)                         \
      return V(f32_form(float32x4_t(a), float32x4_t(b)));                                          \
    else if constexpr (kFloat<V> && sizeof(V) == 16)                                               \
      return V(f64_form(float64x2_t(a), float64x2_t(b)));                                          \
    else                                                                                           \
      return by_lane<V>([](auto x, auto y) { return scalar::apply<scalar::Op::op>(x, y); }, a, b); \
  }
#else
#define SHEAF_FLOAT(name, f32_form, f64_form, op)                                  \
  template <class V>                                                               \
  static V name(V a) {                                                             \
    return by_lane<V>([](auto x) { return scalar::apply<scalar::Op::op>(x); }, a); \
  }
#define SHEAF_FLOAT2(name, f32_form, f64_form, op)                                               \
  template <class V>                                                                             \
  static V name(V a, V b) {                                                                      \
    return by_lane<V>([](auto x, auto y) { return scalar::apply<scalar::Op::op>(x, y); }, a, b); \
  }
#endif
  SHEAF_FLOAT(sqrt, vsqrtq_f32, vsqrtq_f64, Sqrt)
  SHEAF_FLOAT(floor, vrndmq_f32, vrndmq_f64, Floor)
  SHEAF_FLOAT(ceil, vrndpq_f32, vrndpq_f64, Ceil)
  SHEAF_FLOAT(trunc, vrndq_f32, vrndq_f64, Trunc)
  SHEAF_FLOAT(rint, vrndnq_f32, vrndnq_f64, Rint)
  SHEAF_FLOAT2(min, vminq_f32, vminq_f64, Min)
  SHEAF_FLOAT2(max, vmaxq_f32, vmaxq_f64, Max)
#undef SHEAF_FLOAT
#undef SHEAF_FLOAT2

  template <class V>
  static V fma(V a, V b, V c) {
#if defined(__aarch64__)
    if constexpr (sizeof(V) == 16 && sizeof(Element<V>) == 4)
      return V(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
    else if constexpr (sizeof(V) == 16)
      return V(vfmaq_f64(float64x2_t(c), float64x2_t(a), float64x2_t(b)));
    else
#endif
      return by_lane<V>([](auto x, auto y, auto z) { return scalar::apply<scalar::Op::Fma>(x, y, z); }, a, b, c);
  }

  template <class V>
  static V and_(V a, V b) {
    return a & b;
  }
  template <class V>
  static V or_(V a, V b) {
    return a | b;
  }
  template <class V>
  static V xor_(V a, V b) {
    return a ^ b;
  }
  template <class V>
  static V not_(V a) {
    return ~a;
  }
  template <class V>
  static V shl(V a, V n) {
    return V(UnsignedVec<V>(a) << (UnsignedVec<V>(n) & (sizeof(Element<V>) * 8 - 1)));
  }
  template <class V>
  static V shr(V a, V n) {
    return V(UnsignedVec<V>(a) >> (UnsignedVec<V>(n) & (sizeof(Element<V>) * 8 - 1)));
  }
  template <class V>
  static V sar(V a, V n) {
    return V(SignedVec<V>(a) >> (SignedVec<V>(n) & (sizeof(Element<V>) * 8 - 1)));
  }

  template <class M>
  static MaskVec mask(M m) {
    if constexpr (sizeof(M) == sizeof(MaskVec))
      return MaskVec(m);
    else
      return __builtin_convertvector(m, MaskVec);
  }
  template <class V>
  static MaskVec lt(V a, V b) {
    return mask(a < b);
  }
  template <class V>
  static MaskVec le(V a, V b) {
    return mask(a <= b);
  }
  template <class V>
  static MaskVec gt(V a, V b) {
    return mask(a > b);
  }
  template <class V>
  static MaskVec ge(V a, V b) {
    return mask(a >= b);
  }
  template <class V>
  static MaskVec eq(V a, V b) {
    return mask(a == b);
  }
  template <class V>
  static MaskVec ne(V a, V b) {
    return mask(a != b);
  }
  template <class V>
  static V seldom(MaskVec c, V a, V b) {
    return select(c, a, b);
  }
  template <class V>
  static V select(MaskVec c, V a, V b) {
    if constexpr (sizeof(V) == sizeof(MaskVec))
      return SignedVec<V>(c) ? a : b;
    else
      return __builtin_convertvector(c, SignedVec<V>) ? a : b;
  }

  static Vec<int32_t> bitcast_f32_i32(Vec<float> a) { return Vec<int32_t>(a); }
  static Vec<float> bitcast_i32_f32(Vec<int32_t> a) { return Vec<float>(a); }
  static Vec<int64_t> bitcast_f64_i64(Vec<double> a) { return Vec<int64_t>(a); }
  static Vec<double> bitcast_i64_f64(Vec<int64_t> a) { return Vec<double>(a); }

  template <class To, class V>
  static Vec<To> convert(V a, Tag<To>) {
    using From = Element<V>;
    if constexpr (std::is_same_v<To, From>)
      return a;
    else if constexpr (std::is_floating_point_v<To> || !std::is_floating_point_v<From>)
      return __builtin_convertvector(a, Vec<To>);
#if defined(__aarch64__)
    else if constexpr (sizeof(V) == 16 && std::is_same_v<From, float> && std::is_same_v<To, int32_t>)
      return Vec<To>(vcvtq_s32_f32(float32x4_t(a)));
    else if constexpr (sizeof(V) == 16 && std::is_same_v<From, double> && std::is_same_v<To, int64_t>)
      return Vec<To>(vcvtq_s64_f64(float64x2_t(a)));
#endif
    else
      return by_lane<Vec<To>>([](From x) { return scalar::convert<To>(x); }, a);
  }
};

}  // namespace sheaf::kernels

namespace sheaf::scalar::math {
template <class F, class T>
struct Kept<kernels::VectorBuilder<F>, T> {
  using type = typename kernels::VectorBuilder<F>::template Vec<T>;
};
}  // namespace sheaf::scalar::math
