// Quantized weights by AVX2's products of 16-bit numbers: included by quantized.cpp.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "codegen/block/quantized_groups.h"

namespace sheaf::codegen::block::avx {

#define SHEAF_AVX2 __attribute__((target("avx2,fma")))
constexpr int64_t kAheadBytes = 6144;

SHEAF_AVX2 inline __m256i four_times(const int16_t* p) {
  int64_t all;
  std::memcpy(&all, p, sizeof all);
  return _mm256_set1_epi64x(all);
}
SHEAF_AVX2 inline __m128i bytes_at(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
SHEAF_AVX2 inline __m256i add_products(__m256i sums, __m256i w, __m256i x) { return _mm256_add_epi32(sums, _mm256_madd_epi16(w, x)); }

// The sums of four columns over one group.
SHEAF_AVX2 inline __m128i dot_nibbles(const Counts& x, const uint8_t* row, int64_t rows) {
  __m256i total = _mm256_setzero_si256();  // two parts for each column, side by side
  const __m128i mask = _mm_set1_epi8(15);
  for (int64_t r = 0; r < rows; ++r, row += kTile * 4) {
    if (r % 4 == 0) _mm_prefetch(reinterpret_cast<const char*>(row + kAheadBytes), _MM_HINT_T1);
    __m128i w = bytes_at(row);
    total = add_products(total, _mm256_cvtepu8_epi16(_mm_and_si128(w, mask)), four_times(x.whole + r * 4));
    total = add_products(total, _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(w, 4), mask)), four_times(x.whole + (rows + r) * 4));
  }
  __m256i pairs = _mm256_hadd_epi32(total, total);
  return _mm_unpacklo_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

SHEAF_AVX2 inline __m128i dot_bytes(const Counts& x, const uint8_t* row, int64_t rows) {
  __m256i first = _mm256_setzero_si256(), second = first;  // four parts for each of two columns
  for (int64_t r = 0; r < rows; ++r, row += kTile * 8) {
    if (r % 2 == 0) _mm_prefetch(reinterpret_cast<const char*>(row + kAheadBytes), _MM_HINT_T1);
    __m256i eight = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x.whole + r * 8)));
    first = add_products(first, _mm256_cvtepi8_epi16(bytes_at(row)), eight);
    second = add_products(second, _mm256_cvtepi8_epi16(bytes_at(row + 16)), eight);
  }
  __m256i pairs = _mm256_hadd_epi32(first, second), sums = _mm256_hadd_epi32(pairs, pairs);  // of columns 0 and 2, then of 1 and 3
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

template <bool kFourBits>
SHEAF_AVX2 void add_dots(const Rows& rows, const Groups& g) {
  int64_t j = 0;
  for (; j + kTile <= g.columns; j += kTile)
    for (int64_t i = 0; i < rows.count; ++i) {
      float* to = rows.sums + i * rows.ld + j;
      __m128 here = _mm_loadu_ps(to);
      for (int64_t q = 0; q < g.count; ++q) {
        const Counts& x = rows.x[i * rows.apart + q];
        __m128i sum = _mm_add_epi32(kFourBits ? dot_nibbles(x, g.tile(q, j), g.rows) : dot_bytes(x, g.tile(q, j), g.rows), _mm_set1_epi32(x.offset));
        here = _mm_fmadd_ps(_mm_mul_ps(_mm_cvtepi32_ps(sum), _mm_set1_ps(x.step)), _mm_loadu_ps(g.scales_of(q) + j), here);
      }
      _mm_storeu_ps(to, here);
    }
  add_groups<kFourBits>(rows, g, j);
}
#undef SHEAF_AVX2

inline bool has_dots() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

}  // namespace sheaf::codegen::block::avx
