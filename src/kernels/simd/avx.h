// Simd<T> for AVX2 and AVX-512: see simd.h, which includes this file.
#pragma once
#include <immintrin.h>

#include <bit>
#include <cstdint>

#include "kernels/simd/avx512_tile.h"
#include "scalar/math/exp_log.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

using scalar::BFloat16;
using scalar::Float16;

// Permutation that interleaves the first halves of two vectors of 32 elements; add 16 for the second halves.
struct alignas(64) ZipOrder {
  uint16_t of[32];
};
inline constexpr ZipOrder kZipOrder = [] {
  ZipOrder order{};
  for (uint16_t i = 0; i < 32; ++i)
    order.of[i] = static_cast<uint16_t>(i / 2 + i % 2 * 32);
  return order;
}();

// Tiles that broadcast elements of a: the same code for every vector width. A macro, because the functions must be
// compiled inside the region of each instruction set.
#define SHEAF_BROADCAST_TILES(T)                                                                                  \
  template <int kVectors, class B>                                                                                \
  [[gnu::always_inline]] static void load_row(V(&y)[kVectors], const B* b) {                                      \
    _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) y[v] = load(b + v * kLanes);                       \
  }                                                                                                               \
  template <int kRows, int kVectors>                                                                              \
  [[gnu::always_inline]] static void begin(V(&acc)[kRows][kVectors], const T* a, const V(&y)[kVectors]) {         \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRows; ++i) {                                                    \
      V x = splat(a[i]);                                                                                          \
      _Pragma("GCC unroll 4") for (int v = 0; v < kVectors; ++v) acc[i][v] = mul(x, y[v]);                        \
    }                                                                                                             \
  }                                                                                                               \
  template <int kRows, int kVectors>                                                                              \
  [[gnu::always_inline]] static void multiply(V(&acc)[kRows][kVectors], const T* a, const V(&y)[kVectors]) {      \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRows; ++i) {                                                    \
      V x = splat(a[i]);                                                                                          \
      _Pragma("GCC unroll 4") for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(x, y[v], acc[i][v]);             \
    }                                                                                                             \
  }                                                                                                               \
  template <int kRows, int kVectors, class B>                                                                     \
  [[gnu::always_inline]] static void multiply_rows(V(&acc)[kRows][kVectors], const T* a, int64_t lda, const B* b, \
                                                   int64_t) {                                                     \
    V y[kVectors];                                                                                                \
    load_row(y, b);                                                                                               \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRows; ++i) {                                                    \
      V x = splat(a[i * lda]);                                                                                    \
      _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(x, y[v], acc[i][v]);             \
    }                                                                                                             \
  }

// multiply_columns on blocks of kLanes columns, transposed in registers.
#define SHEAF_TURNED_COLUMNS                                                                                          \
  template <class S>                                                                                                  \
  static constexpr int kColumnDepth = kLanes;                                                                         \
  template <int kRows, class S>                                                                                       \
  [[gnu::always_inline]] static void multiply_columns(V(&acc)[kRows], const S* b, int64_t ldb, const float* x,        \
                                                      int64_t ldx) {                                                  \
    V y[kLanes];                                                                                                      \
    _Pragma("GCC unroll 16") for (int e = 0; e < kLanes; ++e) y[e] = load(b + e * ldb);                               \
    transpose(y);                                                                                                     \
    _Pragma("GCC unroll 16") for (int e = 0; e < kLanes; ++e) _Pragma("GCC unroll 4") for (int i = 0; i < kRows; ++i) \
        acc[i] = fma(splat(x[i * ldx + e]), y[e], acc[i]);                                                            \
  }

#define SHEAF_TRANSPOSED_QUADS(mm)                                                        \
  [[gnu::always_inline]] static void transpose_quads(V(&y)[4]) {                          \
    V low = mm##_unpacklo_ps(y[0], y[1]), high = mm##_unpackhi_ps(y[0], y[1]);            \
    V low2 = mm##_unpacklo_ps(y[2], y[3]), high2 = mm##_unpackhi_ps(y[2], y[3]);          \
    y[0] = mm##_shuffle_ps(low, low2, 0x44), y[1] = mm##_shuffle_ps(low, low2, 0xee);     \
    y[2] = mm##_shuffle_ps(high, high2, 0x44), y[3] = mm##_shuffle_ps(high, high2, 0xee); \
  }

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
namespace avx2 {
template <class T>
struct Simd;
template <>
struct Simd<float> {
  using V = __m256;
  // 6 x 16: 12 accumulators + 2 loads + 1 broadcast, which just fits the 16 registers.
  static constexpr int kLanes = 8, kTileRows = 6, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm256_setzero_ps(); }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load_part(const float* p, int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
  static void store_part(float* p, V v, int64_t n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
  static __m256i first_lanes(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static V load(const BFloat16* p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
  }
  static V load(const Float16* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static V splat(float x) { return _mm256_set1_ps(x); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm256_max_ps(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, c, _CMP_LT_OQ)); }
  static V pow2(V shifted) {
    constexpr int32_t kOffset =
        scalar::math::FloatFormat<float>::kBias - std::bit_cast<int32_t>(scalar::math::FloatFormat<float>::kRoundToInt);
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(kOffset)), 23));
  }
  SHEAF_BROADCAST_TILES(float)
  [[gnu::always_inline]] static void transpose(V (&y)[8]) {
    V pairs[8], fours[8];
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i += 2) pairs[i] = _mm256_unpacklo_ps(y[i], y[i + 1]),
                                                           pairs[i + 1] = _mm256_unpackhi_ps(y[i], y[i + 1]);
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i += 4) {
      fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44),
      fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
      fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44),
                fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < 4; ++i) y[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20),
                                                        y[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
  SHEAF_TURNED_COLUMNS
  static constexpr int kQuads = 2;
  static __m128i load_half(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  [[gnu::always_inline]] static void load_quads(V (&y)[1], const float* b, int64_t ldb) {
    y[0] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(b)), _mm_loadu_ps(b + ldb), 1);
  }
  [[gnu::always_inline]] static void load_quads(V (&y)[2], const BFloat16* b, int64_t ldb) {
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(b)), load_half(b + ldb), 1),
            none = _mm256_setzero_si256();
    y[0] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(none, both)),
    y[1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(none, both));
  }
  [[gnu::always_inline]] static void load_quads(V (&y)[2], const Float16* b, int64_t ldb) {
    __m128i first = load_half(b), second = load_half(b + ldb);
    y[0] = _mm256_cvtph_ps(_mm_unpacklo_epi64(first, second)),
    y[1] = _mm256_cvtph_ps(_mm_unpackhi_epi64(first, second));
  }
  static V splat_quad(const float* x) { return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(x)); }
  static void sum_quads(V v, float* out) {
    V pairs = _mm256_hadd_ps(v, v), all = _mm256_hadd_ps(pairs, pairs);
    out[0] = _mm256_cvtss_f32(all), out[1] = _mm_cvtss_f32(_mm256_extractf128_ps(all, 1));
  }
  [[gnu::always_inline]] static void sum_sixteens(const V (&acc)[4][2], float* out) {
    __m128 y[4];
    _Pragma("GCC unroll 4") for (int c = 0; c < 4; ++c) {
      V eight = add(acc[c][0], acc[c][1]);
      y[c] = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    }
    _MM_TRANSPOSE4_PS(y[0], y[1], y[2], y[3]);
    _mm_storeu_ps(out, _mm_add_ps(_mm_add_ps(y[0], y[1]), _mm_add_ps(y[2], y[3])));
  }
  SHEAF_TRANSPOSED_QUADS(_mm256)
};
template <>
struct Simd<double> {
  using V = __m256d;
  static constexpr int kLanes = 4, kTileRows = 6, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm256_setzero_pd(); }
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static V load_part(const double* p, int64_t n) { return _mm256_maskload_pd(p, first_lanes(n)); }
  static void store_part(double* p, V v, int64_t n) { _mm256_maskstore_pd(p, first_lanes(n), v); }
  static __m256i first_lanes(int64_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static V splat(double x) { return _mm256_set1_pd(x); }
  static V add(V a, V b) { return _mm256_add_pd(a, b); }
  static V sub(V a, V b) { return _mm256_sub_pd(a, b); }
  static V mul(V a, V b) { return _mm256_mul_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V max(V a, V b) { return _mm256_max_pd(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm256_blendv_pd(b, a, _mm256_cmp_pd(x, c, _CMP_LT_OQ)); }
  static V pow2(V shifted) {
    constexpr int64_t kOffset = scalar::math::FloatFormat<double>::kBias -
                                std::bit_cast<int64_t>(scalar::math::FloatFormat<double>::kRoundToInt);
    return _mm256_castsi256_pd(
        _mm256_slli_epi64(_mm256_add_epi64(_mm256_castpd_si256(shifted), _mm256_set1_epi64x(kOffset)), 52));
  }
  SHEAF_BROADCAST_TILES(double)
};
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma,f16c")
#endif
namespace avx512 {
template <class T>
struct Simd;
template <>
struct Simd<float> {
  using V = __m512;
  // 14 x 32: 28 accumulators + 2 loads + 1 broadcast: 31 of 32 registers.
  static constexpr int kLanes = 16, kTileRows = 14, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm512_setzero_ps(); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load_part(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
  static void store_part(float* p, V v, int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
  static __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1U << n) - 1); }
  static V load(const BFloat16* p) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
  static V load(const Float16* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V splat(float x) { return _mm512_set1_ps(x); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm512_max_ps(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, c, _CMP_LT_OQ), b, a); }
  static V pow2(V shifted) {
    constexpr int32_t kOffset =
        scalar::math::FloatFormat<float>::kBias - std::bit_cast<int32_t>(scalar::math::FloatFormat<float>::kRoundToInt);
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(kOffset)), 23));
  }
  SHEAF_BROADCAST_TILES(float)
  static constexpr auto packed_tile = avx512::packed_tile<float>;
  static constexpr auto row_tile = avx512::row_tile<float>;
  [[gnu::always_inline]] static void transpose(V (&y)[16]) {
    V pairs[16], fours[16], eights[16];
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i += 2) pairs[i] = _mm512_unpacklo_ps(y[i], y[i + 1]),
                                                             pairs[i + 1] = _mm512_unpackhi_ps(y[i], y[i + 1]);
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i += 4) {
      fours[i] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44),
      fours[i + 1] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
      fours[i + 2] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44),
                fours[i + 3] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
    }
    // fours[4 g + e] has element e (+ 4 per quarter) of columns 4 g to 4 g + 3.
    _Pragma("GCC unroll 16") for (int e = 0; e < 4; ++e) {
      eights[e] = _mm512_shuffle_f32x4(fours[e], fours[e + 4], 0x88),
      eights[e + 4] = _mm512_shuffle_f32x4(fours[e], fours[e + 4], 0xdd);
      eights[e + 8] = _mm512_shuffle_f32x4(fours[e + 8], fours[e + 12], 0x88),
                 eights[e + 12] = _mm512_shuffle_f32x4(fours[e + 8], fours[e + 12], 0xdd);
    }
    _Pragma("GCC unroll 16") for (int e = 0; e < 4; ++e) {
      y[e] = _mm512_shuffle_f32x4(eights[e], eights[e + 8], 0x88),
      y[e + 8] = _mm512_shuffle_f32x4(eights[e], eights[e + 8], 0xdd);
      y[e + 4] = _mm512_shuffle_f32x4(eights[e + 4], eights[e + 12], 0x88),
            y[e + 12] = _mm512_shuffle_f32x4(eights[e + 4], eights[e + 12], 0xdd);
    }
  }
  // to[l][i] = from[i * apart + l] for i < width, of which `used` exist (the rest are zeros), and l < k: transposes
  // squares of 16 in registers.
  static void pack_transposed(float* to, const float* from, int64_t apart, int64_t used, int64_t width, int64_t k) {
    auto first = [](int64_t n) { return static_cast<__mmask16>(n >= kLanes ? 0xffff : (1 << n) - 1); };
    for (int64_t l = 0; l < k; l += kLanes)
      for (int64_t i = 0; i < width; i += kLanes) {
        V rows[kLanes];
        _Pragma("GCC unroll 16") for (int r = 0; r < kLanes; ++r) rows[r] =
            i + r < used ? _mm512_maskz_loadu_ps(first(k - l), from + (i + r) * apart + l) : zero();
        transpose(rows);
        float* row = to + l * width + i;
        const __mmask16 there = first(width - i);
        if (l + kLanes <= k) {
          _Pragma("GCC unroll 16") for (int e = 0; e < kLanes; ++e)
              _mm512_mask_storeu_ps(row + e * width, there, rows[e]);
        } else {
          for (int64_t e = 0; e < k - l; ++e)
            _mm512_mask_storeu_ps(row + e * width, there, rows[e]);
        }
      }
  }
  SHEAF_TURNED_COLUMNS
  // Quads: two columns from each of two AVX2 vectors.
  static constexpr int kQuads = 4;
  template <int kVectors, class B>
  [[gnu::always_inline]] static void load_quads(V (&y)[kVectors], const B* b, int64_t ldb) {
    __m256 first[kVectors], second[kVectors];
    avx2::Simd<float>::load_quads(first, b, ldb);
    avx2::Simd<float>::load_quads(second, b + 2 * ldb, ldb);
    _Pragma("GCC unroll 2") for (int i = 0; i < kVectors; ++i) y[i] = _mm512_castpd_ps(
        _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(first[i])), _mm256_castps_pd(second[i]), 1));
  }
  static V splat_quad(const float* x) { return _mm512_broadcast_f32x4(_mm_loadu_ps(x)); }
  static void sum_quads(V v, float* out) {
    avx2::Simd<float>::sum_quads(_mm512_castps512_ps256(v), out);
    avx2::Simd<float>::sum_quads(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)), out + 2);
  }
  [[gnu::always_inline]] static void sum_sixteens(const V (&acc)[4][1], float* out) {
    __m256 halves[4][2];
    _Pragma("GCC unroll 4") for (int c = 0; c < 4; ++c) {
      halves[c][0] = _mm512_castps512_ps256(acc[c][0]);
      halves[c][1] = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(acc[c][0]), 1));
    }
    avx2::Simd<float>::sum_sixteens(halves, out);
  }
  SHEAF_TRANSPOSED_QUADS(_mm512)
};
template <>
struct Simd<double> {
  using V = __m512d;
  static constexpr int kLanes = 8, kTileRows = 14, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm512_setzero_pd(); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static V load_part(const double* p, int64_t n) { return _mm512_maskz_loadu_pd(first_lanes(n), p); }
  static void store_part(double* p, V v, int64_t n) { _mm512_mask_storeu_pd(p, first_lanes(n), v); }
  static __mmask8 first_lanes(int64_t n) { return static_cast<__mmask8>((1U << n) - 1); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static V splat(double x) { return _mm512_set1_pd(x); }
  static V add(V a, V b) { return _mm512_add_pd(a, b); }
  static V sub(V a, V b) { return _mm512_sub_pd(a, b); }
  static V mul(V a, V b) { return _mm512_mul_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V max(V a, V b) { return _mm512_max_pd(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, c, _CMP_LT_OQ), b, a); }
  static V pow2(V shifted) {
    constexpr int64_t kOffset = scalar::math::FloatFormat<double>::kBias -
                                std::bit_cast<int64_t>(scalar::math::FloatFormat<double>::kRoundToInt);
    return _mm512_castsi512_pd(
        _mm512_slli_epi64(_mm512_add_epi64(_mm512_castpd_si512(shifted), _mm512_set1_epi64(kOffset)), 52));
  }
  SHEAF_BROADCAST_TILES(double)
  static constexpr auto packed_tile = avx512::packed_tile<double>;
  static constexpr auto row_tile = avx512::row_tile<double>;
};
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef SHEAF_BROADCAST_TILES
#undef SHEAF_TURNED_COLUMNS
#undef SHEAF_TRANSPOSED_QUADS

}  // namespace sheaf::kernels
