// bf16 micro-kernels with vdpbf16ps, which takes two k as one element of 32 bits: packed operands are [k / 2][rows][2].
// Included by bf16_dot.cpp.
#pragma once
#include <immintrin.h>

#include "kernels/gemm/bf16_dot.h"
#include "kernels/gemm/packing.h"
#include "kernels/simd/simd.h"

namespace sheaf::kernels {
namespace {

#include "kernels/simd/bf16_dot_begin.h"

constexpr int kDotRows = 14, kDotMiddle = 8,
              kDotVectors = 2;  // 28 accumulators + 2 loads + 1 broadcast: 31 of 32 registers
constexpr int kDotLanes = 16, kDotElements = 2 * kDotLanes;  // columns of a vector, and its bf16 elements

// sums[i][v] += the products of two k of row i with two k of the columns of vector v.
template <int kRows, int kVectors>
inline __attribute__((always_inline)) void multiply_dot(__m512 (&sums)[kRows][kVectors], const BFloat16* a,
                                                        const BFloat16* b) {
  __m512i y[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    y[v] = _mm512_loadu_si512(b + v * kDotElements);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    int32_t pair;
    std::memcpy(&pair, a + 2 * i, sizeof pair);
    __m512i x = _mm512_set1_epi32(pair);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[i][v] = _mm512_dpbf16_ps(sums[i][v], reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y[v]));
  }
}

// A tile; see packed_tile in micro_kernels_code.h. Prefetches its rows of c at the beginning.
template <int kRows, int kVectors>
inline __attribute__((always_inline)) void dot_tile(int64_t k, const BFloat16* a, const BFloat16* b, float* c,
                                                    int64_t ldc, bool first, const Prefetch& prefetch) {
  constexpr int64_t kSteps = Bf16DotKernels::kPrefetchDepth / 2, kSoon = 4 * 32;  // elements of four lines
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[i][v] = _mm512_setzero_ps();
  const std::byte* line = prefetch.at;
  auto step = [&]() __attribute__((always_inline)) {
    __builtin_prefetch(a + kSoon);
    multiply_dot(sums, a, b);
    a += 2 * kRows, b += kVectors * kDotElements;
  };
  const int64_t steps = k / 2, whole = steps / kSteps;
  for (int64_t s = 0; s < whole; ++s) {
    if (s < kRows)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        __builtin_prefetch(c + s * ldc + v * kDotLanes, 1);
#pragma GCC unroll 3
    for (int i = 0; i < Bf16DotKernels::kPrefetches; ++i)
      __builtin_prefetch(line + i * prefetch.step, 0, 2);
    line += prefetch.period;
#pragma GCC unroll 1
    for (int i = 0; i < kSteps; ++i)
      step();
  }
  for (int64_t s = whole * kSteps; s < steps; ++s)
    step();
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* to = c + i * ldc + v * kDotLanes;
      _mm512_storeu_ps(to, _mm512_add_ps(first ? _mm512_setzero_ps() : _mm512_loadu_ps(to), sums[i][v]));
    }
}

template <int kRows, int kVectors>
void dot_tiles(int64_t tiles, int64_t k, const BFloat16* a, const BFloat16* b, float* c, int64_t ldc, bool first,
               Prefetch prefetch) {
  for (; tiles > 0; --tiles, a += k * kRows, c += kRows * ldc) {
    dot_tile<kRows, kVectors>(k, a, b, c, ldc, first, prefetch);
    prefetch.pass(1);
  }
}

void dot_tiles_across(int64_t tiles, int64_t k, const BFloat16* a, const BFloat16* b, float* c, int64_t ldc, bool first,
                      Prefetch prefetch) {
  for (; tiles > 0; --tiles, b += k * kDotVectors * kDotLanes, c += kDotVectors * kDotLanes) {
    dot_tile<kDotRows, kDotVectors>(k, a, b, c, ldc, first, prefetch);
    prefetch.pass(1);
  }
}

constexpr uint32_t first_bits(int64_t n) { return n >= 32 ? ~0u : (1u << std::max<int64_t>(n, 0)) - 1; }

// Like `pack`, with two k of a row adjacent: dst[l / 2][i][l % 2]; an odd k is padded with zeros.
void pack_twos(BFloat16* dst, const MatrixView<BFloat16>& src, int64_t i0, int64_t l0, int64_t used, int64_t width,
               int64_t k) {
  const BFloat16* from = src.at(i0, l0);
  if (src.k == 1) {
    // Transposes 32 k of 16 rows in registers.
    for (int64_t l = 0; l < k; l += kDotElements)
      for (int64_t i = 0; i < width; i += kDotLanes) {
        __m512 rows[kDotLanes];
#pragma GCC unroll 16
        for (int r = 0; r < kDotLanes; ++r)
          rows[r] =
              i + r < used
                  ? _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(first_bits(k - l), from + (i + r) * src.minor + l))
                  : _mm512_setzero_ps();
        avx512::Simd<float>::transpose(rows);
        BFloat16* to = dst + l * width + 2 * i;
        const __mmask16 there = static_cast<__mmask16>(first_bits(std::min<int64_t>(kDotLanes, width - i)));
        const int64_t pairs = std::min<int64_t>(kDotLanes, pieces(k - l, 2));
        for (int64_t p = 0; p < pairs; ++p, to += 2 * width)
          _mm512_mask_storeu_ps(to, there, rows[p]);
      }
    return;
  }
  if (src.minor == 1) {
    // Interleaves two rows, 32 columns at a time.
    const __m512i low = _mm512_load_si512(&kZipOrder);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(kDotLanes));
    for (int64_t l = 0; l < k; l += 2)
      for (int64_t i = 0; i < width; i += kDotElements) {
        const BFloat16* row = from + l * src.k + i;
        const __mmask32 there = first_bits(used - i), both = l + 1 < k ? there : 0;
        const __m512i even = _mm512_maskz_loadu_epi16(there, row),
                      odd = _mm512_maskz_loadu_epi16(both, row + (both ? src.k : 0));
        BFloat16* to = dst + l * width + 2 * i;
        _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(first_bits(std::min<int64_t>(kDotLanes, width - i))),
                                 _mm512_permutex2var_epi16(even, low, odd));
        if (width - i > kDotLanes)
          _mm512_mask_storeu_epi32(
              to + kDotElements,
              static_cast<__mmask16>(first_bits(std::min<int64_t>(kDotLanes, width - i - kDotLanes))),
              _mm512_permutex2var_epi16(even, high, odd));
      }
    return;
  }
  for (int64_t l = 0; l < round_up(k, 2); ++l)
    for (int64_t i = 0; i < width; ++i)
      dst[l / 2 * 2 * width + 2 * i + l % 2] = i < used && l < k ? from[i * src.minor + l * src.k] : BFloat16{};
}

template <int kRows>
constexpr std::array<Bf16DotKernels::Tiles, 3> dot_tiles_of() {
  return {dot_tiles<kRows, 1>, dot_tiles<kRows, 2>, nullptr};
}

constexpr Bf16DotKernels kBf16DotKernels{
    kDotRows,
    kDotMiddle,
    kDotVectors * kDotLanes,
    kDotLanes,
    kDotRows * kDotVectors / 4.0,
    pack_twos,
    {dot_tiles_of<2>(), dot_tiles_of<4>(), dot_tiles_of<kDotMiddle>(), dot_tiles_of<kDotRows>()},
    dot_tiles_across};

#include "kernels/simd/bf16_dot_end.h"

}  // namespace
}  // namespace sheaf::kernels
