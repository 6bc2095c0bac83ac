// Simd<T> for any processor, one element at a time; uses libm's fma if the processor has none. See simd.h, which
// includes this file.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "scalar/math/exp_log.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

namespace portable {
template <class T>
struct Simd {
  using V = T;
  static constexpr int kLanes = 1, kTileRows = 4, kTileVectors = 4, kDepth = 1;
  static V zero() { return 0; }
  template <class S>
  static V load(const S* p) {
    return scalar::convert<T>(*p);
  }
  template <int kVectors, class B>
  static void load_row(V (&y)[kVectors], const B* b) {
    for (int v = 0; v < kVectors; ++v)
      y[v] = load(b + v);
  }
  static void store(T* p, V v) { *p = v; }
  static V splat(T x) { return x; }
  static V add(V a, V b) { return a + b; }
  static V sub(V a, V b) { return a - b; }
  static V mul(V a, V b) { return a * b; }
  static V fma(V a, V b, V c) { return scalar::apply<scalar::Op::Fma>(a, b, c); }
  static V max(V a, V b) { return a > b ? a : b; }
  static V if_less(V x, V c, V a, V b) { return x < c ? a : b; }
  static V pow2(V shifted) {
    using Format = scalar::math::FloatFormat<T>;
    using Bits = std::make_unsigned_t<scalar::math::BitsOf<T>>;
    Bits n = std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(Format::kRoundToInt) + Bits(Format::kBias);
    return std::bit_cast<T>(Bits(n << Format::kMantissaBits));
  }
  template <int kRows, int kVectors>
  static void begin(V (&acc)[kRows][kVectors], const T* a, const V (&y)[kVectors]) {
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v)
        acc[i][v] = a[i] * y[v];
  }
  template <int kRows, int kVectors>
  static void multiply(V (&acc)[kRows][kVectors], const T* a, const V (&y)[kVectors]) {
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v)
        acc[i][v] = fma(a[i], y[v], acc[i][v]);
  }
  template <int kRows, int kVectors, class B>
  static void multiply_rows(V (&acc)[kRows][kVectors], const T* a, int64_t lda, const B* b, int64_t) {
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v)
        acc[i][v] = fma(a[i * lda], load(b + v), acc[i][v]);
  }
  template <class S>
  static constexpr int kColumnDepth = 1;
  template <int kRows, class S>
  static void multiply_columns(V (&acc)[kRows], const S* b, int64_t, const T* x, int64_t ldx) {
    for (int i = 0; i < kRows; ++i)
      acc[i] = fma(x[i * ldx], load(b), acc[i]);
  }
};
}  // namespace portable

}  // namespace sheaf::kernels
