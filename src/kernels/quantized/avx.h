// Kernels for quantized weights with AVX2 (products of 16-bit numbers) or AVX-512 (VNNI dot products of 16-bit numbers
// and of bytes). Included by quantized.cpp.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "kernels/quantized/groups.h"

namespace sheaf::kernels::avx {

#define SHEAF_AVX2 __attribute__((target("avx2,fma")))
constexpr int64_t kAheadBytes = 6144;

SHEAF_AVX2 inline __m256i four_times(const int16_t* p) {
  int64_t all;
  std::memcpy(&all, p, sizeof all);
  return _mm256_set1_epi64x(all);
}
SHEAF_AVX2 inline __m128i bytes_at(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
SHEAF_AVX2 inline __m256i add_products(__m256i sums, __m256i w, __m256i x) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(w, x));
}

// The sums of four columns over one group.
SHEAF_AVX2 inline __m128i dot_nibbles(const Counts& x, const uint8_t* row, int64_t rows) {
  __m256i total = _mm256_setzero_si256();  // two adjacent partial sums for each column
  const __m128i mask = _mm_set1_epi8(15);
  for (int64_t r = 0; r < rows; ++r, row += kTile * 4) {
    if (r % 4 == 0) _mm_prefetch(reinterpret_cast<const char*>(row + kAheadBytes), _MM_HINT_T1);
    __m128i w = bytes_at(row);
    total = add_products(total, _mm256_cvtepu8_epi16(_mm_and_si128(w, mask)), four_times(x.whole + r * 4));
    total = add_products(total, _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(w, 4), mask)),
                         four_times(x.whole + (rows + r) * 4));
  }
  __m256i pairs = _mm256_hadd_epi32(total, total);
  return _mm_unpacklo_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

SHEAF_AVX2 inline __m128i dot_bytes(const Counts& x, const uint8_t* row, int64_t rows) {
  __m256i first = _mm256_setzero_si256(), second = first;  // four partial sums for each of two columns
  for (int64_t r = 0; r < rows; ++r, row += kTile * 8) {
    if (r % 2 == 0) _mm_prefetch(reinterpret_cast<const char*>(row + kAheadBytes), _MM_HINT_T1);
    __m256i eight = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x.whole + r * 8)));
    first = add_products(first, _mm256_cvtepi8_epi16(bytes_at(row)), eight);
    second = add_products(second, _mm256_cvtepi8_epi16(bytes_at(row + 16)), eight);
  }
  __m256i pairs = _mm256_hadd_epi32(first, second),
          sums = _mm256_hadd_epi32(pairs, pairs);  // of columns 0 and 2, then of 1 and 3
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

// Adds the tiles of columns from j on.
template <bool kFourBits>
SHEAF_AVX2 void add_tiles(const QuantizedRows& rows, const Groups& g, int64_t j) {
  for (; j + kTile <= g.columns; j += kTile)
    for (int64_t i = 0; i < rows.count; ++i) {
      float* to = rows.sums + i * rows.ld + j;
      __m128 here = _mm_loadu_ps(to);
      for (int64_t q = 0; q < g.count; ++q) {
        const Counts& x = rows.x[i * rows.apart + q];
        __m128i sum =
            _mm_add_epi32(kFourBits ? dot_nibbles(x, g.tile(q, j), g.rows) : dot_bytes(x, g.tile(q, j), g.rows),
                          _mm_set1_epi32(x.offset));
        here =
            _mm_fmadd_ps(_mm_mul_ps(_mm_cvtepi32_ps(sum), _mm_set1_ps(x.step)), _mm_loadu_ps(g.scales_of(q) + j), here);
      }
      _mm_storeu_ps(to, here);
    }
  add_groups<kFourBits>(rows, g, j);
}

template <bool kFourBits>
void add_dots(const QuantizedRows& rows, const Groups& g) {
  add_tiles<kFourBits>(rows, g, 0);
}

#define SHEAF_AVX512 __attribute__((target("avx512f,avx512bw,avx512vnni,fma")))
constexpr int64_t kWide = 4 * kTile;  // columns of four consecutive tiles

SHEAF_AVX512 inline void ask(const uint8_t* tile, int64_t bytes) {
  constexpr int64_t kSoon = 1024;
  for (int64_t at = 0; at < bytes; at += 64)
    _mm_prefetch(reinterpret_cast<const char*>(tile + kSoon + at), _MM_HINT_T0);
}

// The sums of the columns of four tiles over one group. 4 bits: rows are a multiple of four.
SHEAF_AVX512 inline __m512i wide_nibbles(const Counts& x, const uint8_t* tile, int64_t rows) {
  constexpr int64_t kFour = 4;  // rows in a vector, 4 bytes of each column
  const __m512i order = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), mask = _mm512_set1_epi8(15);
  __m512i sums[4];
  _Pragma("GCC unroll 4") for (__m512i& s : sums) s = _mm512_setzero_si512();
  for (int64_t r = 0; r < rows; r += kFour) {
    auto four = [&](int64_t row) SHEAF_AVX512 {
      return _mm512_permutexvar_epi32(
          order, _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x.bytes + row * 4))));
    };
    const __m512i low = four(r), high = four(rows + r);
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; ++t) {
      const __m512i w = _mm512_loadu_si512(tile + (t * rows + r) * kTile * 4);
      sums[t] = _mm512_dpbusd_epi32(sums[t], _mm512_and_si512(w, mask), low);
      sums[t] = _mm512_dpbusd_epi32(sums[t], _mm512_and_si512(_mm512_srli_epi16(w, 4), mask), high);
    }
  }
  // A quarter of a vector holds the columns of a tile.
  auto halves = [](__m512i a, __m512i b) SHEAF_AVX512 {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x44), _mm512_shuffle_i32x4(a, b, 0xee));
  };
  const __m512i first = halves(sums[0], sums[1]), second = halves(sums[2], sums[3]);
  return _mm512_add_epi32(_mm512_shuffle_i32x4(first, second, 0x88), _mm512_shuffle_i32x4(first, second, 0xdd));
}

SHEAF_AVX512 inline __m512i wide_bytes(const Counts& x, const uint8_t* tile, int64_t rows) {
  __m512i sums[4];  // a quarter holds four partial sums of a column
  _Pragma("GCC unroll 4") for (__m512i& s : sums) s = _mm512_setzero_si512();
  for (int64_t r = 0; r < rows; ++r) {
    const __m512i eight = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x.whole + r * 8)));
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; ++t) {
      const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tile + (t * rows + r) * kTile * 8));
      sums[t] = _mm512_dpwssd_epi32(sums[t], _mm512_cvtepi8_epi16(w), eight);
    }
  }
  auto halves = [](__m512i a, __m512i b)
                    SHEAF_AVX512 { return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)); };
  const __m512i first = halves(sums[0], sums[1]), second = halves(sums[2], sums[3]);
  const __m512i by_column =
      _mm512_add_epi32(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), by_column);
}

template <bool kFourBits>
SHEAF_AVX512 void add_wide_dots(const QuantizedRows& rows, const Groups& g) {
  int64_t j = 0;
  for (; j + kWide <= g.columns; j += kWide) {
    for (int64_t q = 0; q < g.count; ++q)
      ask(g.tile(q, j), 4 * g.rows * kTile * kDeep<kFourBits>);
    for (int64_t i = 0; i < rows.count; ++i) {
      float* to = rows.sums + i * rows.ld + j;
      __m512 here = _mm512_loadu_ps(to);
      for (int64_t q = 0; q < g.count; ++q) {
        const Counts& x = rows.x[i * rows.apart + q];
        __m512i sum =
            _mm512_add_epi32(kFourBits ? wide_nibbles(x, g.tile(q, j), g.rows) : wide_bytes(x, g.tile(q, j), g.rows),
                             _mm512_set1_epi32(x.offset));
        here = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(x.step)),
                               _mm512_loadu_ps(g.scales_of(q) + j), here);
      }
      _mm512_storeu_ps(to, here);
    }
  }
  add_tiles<kFourBits>(rows, g, j);
}
#undef SHEAF_AVX512
#undef SHEAF_AVX2

inline bool has_dots() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

// True if the processor has VNNI and, for 4 bits, the rows of a group fill whole vectors.
inline bool has_wide_dots(bool four_bits, int64_t rows) {
  static const bool has =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
  return has && (!four_bits || rows % 4 == 0);
}

}  // namespace sheaf::kernels::avx
