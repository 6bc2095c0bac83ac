// The micro-kernels of byte_tiles.h by AVX-512 and the matrix unit. Included by byte_tiles.cpp.
#pragma once
#include <immintrin.h>

#include "kernels/quantized/byte_tiles.h"
#include "kernels/quantized/groups.h"
#include "kernels/simd/tile_config.h"

namespace sheaf::kernels::avx {

#define SHEAF_AVX512 __attribute__((target("avx512f,avx512bw,fma")))
constexpr int64_t kLine = 64;  // bytes of a vector, and of a row of a tile of weights

SHEAF_AVX512 inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << std::max<int64_t>(n, 0)) - 1);
}

// A row of a group: its bytes to `first` and, of 8 bits, the low ones to `second`; tiles of the next step are
// `step_bytes` further on. Groups are a multiple of eight.
template <bool kFourBits>
SHEAF_AVX512 inline float pack_row(int8_t* first, int8_t* second, int64_t step_bytes, const float* x,
                                   const ByteLayout& g) {
  __m512i most = _mm512_setzero_si512();
  for (int64_t l = 0; l < g.group(); l += 16)
    most = _mm512_max_epu32(
        most, _mm512_and_si512(_mm512_castps_si512(_mm512_maskz_loadu_ps(first_lanes(g.group() - l), x + l)),
                               _mm512_set1_epi32(0x7fffffff)));
  const routines::QuantizedStep step(_mm512_reduce_max_epu32(most), kFourBits);
  const bool finite = step.step == step.step;
  const __m512 inverse = _mm512_set1_ps(step.inverse), round = _mm512_set1_ps(12582912.0f);
  for (int64_t at = 0; at < g.group(); at += g.depth, first += step_bytes, second += step_bytes)
    for (int64_t l = 0; l < g.depth; l += 16) {
      const __mmask16 there = finite ? first_lanes(g.depth - l) : 0, all = first_lanes(g.depth - l);
      const __m512 v = _mm512_add_ps(_mm512_mul_ps(_mm512_maskz_loadu_ps(there, x + at + l), inverse), round);
      const __m512i count = _mm512_sub_epi32(_mm512_castps_si512(v), _mm512_castps_si512(round));
      if (kFourBits) {
        _mm512_mask_cvtepi32_storeu_epi8(first + l, all, count);
      } else {
        const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(count, _mm512_set1_epi32(128)), 8);
        _mm512_mask_cvtepi32_storeu_epi8(first + l, all, high);
        _mm512_mask_cvtepi32_storeu_epi8(second + l, all, count);
      }
    }
  return step.step;
}

template <bool kFourBits>
SHEAF_AVX512 void pack_x_as(int8_t* to, float* steps, const float* x, int64_t apart, int64_t rows,
                            const ByteLayout& g) {
  const int64_t tile = kByteTileRows * g.depth;
  for (int64_t i = 0; i < g.panel_rows(); ++i) {
    int8_t* row = to + i / kByteTileRows * tile + i % kByteTileRows * g.depth;
    if (i < rows) {
      steps[i] = pack_row<kFourBits>(row, row + tile, 2 * tile, x + i * apart, g);
      continue;
    }
    steps[i] = 0;
    for (int64_t s = 0; s < g.steps; ++s)
      for (int64_t part = 0; part < (kFourBits ? 1 : 2); ++part)
        std::fill_n(row + s * 2 * tile + part * tile, g.depth, int8_t{0});
  }
}
SHEAF_AVX512 inline void pack_x(int8_t* to, float* steps, const float* x, int64_t apart, int64_t rows,
                                const ByteLayout& g) {
  g.four_bits ? pack_x_as<true>(to, steps, x, apart, rows, g) : pack_x_as<false>(to, steps, x, apart, rows, g);
}

// Where row `line` (four k) of the tiles of a group begins, for the first 16 columns.
inline int8_t* line_of(int8_t* to, int64_t line, const ByteLayout& g) {
  const int64_t lines = g.depth / 4;
  return to + line / lines * 2 * kByteTileRows * g.depth + line % lines * kLine;
}

SHEAF_AVX512 inline void pack_weights(int8_t* to, const StoredGroup& from, const ByteLayout& g) {
  const int64_t tile = kByteTileRows * g.depth, rows = g.group() / 8;  // as stored, of eight k for each of four columns
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
                odd = _mm512_add_epi32(even, _mm512_set1_epi32(1)), mask = _mm512_set1_epi8(15),
                eight = _mm512_set1_epi8(8);
  for (int64_t half = 0; half < 2; ++half, to += tile) {
    const uint8_t* bytes = from.bytes + half * 4 * from.tile_bytes;
    const int64_t tiles = from.tiles - half * 4;  // that are there, of four
    for (int64_t r = 0; r < rows; ++r) {
      if (g.four_bits) {
        auto four = [&](int64_t t) SHEAF_AVX512 {
          return t < tiles ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + t * from.tile_bytes + r * 16))
                           : _mm_set1_epi8(static_cast<char>(0x88));
        };
        __m512i w = _mm512_castsi128_si512(four(0));
        w = _mm512_inserti32x4(w, four(1), 1);
        w = _mm512_inserti32x4(w, four(2), 2);
        w = _mm512_inserti32x4(w, four(3), 3);
        _mm512_storeu_si512(line_of(to, r, g), _mm512_sub_epi8(_mm512_and_si512(w, mask), eight));
        _mm512_storeu_si512(line_of(to, rows + r, g),
                            _mm512_sub_epi8(_mm512_and_si512(_mm512_srli_epi16(w, 4), mask), eight));
      } else {
        auto four = [&](int64_t t) SHEAF_AVX512 {
          return t < tiles ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + t * from.tile_bytes + r * 32))
                           : _mm256_setzero_si256();
        };
        const __m512i first = _mm512_inserti64x4(_mm512_castsi256_si512(four(0)), four(1), 1),
                      second = _mm512_inserti64x4(_mm512_castsi256_si512(four(2)), four(3), 1);
        _mm512_storeu_si512(line_of(to, 2 * r, g), _mm512_permutex2var_epi32(first, even, second));
        _mm512_storeu_si512(line_of(to, 2 * r + 1, g), _mm512_permutex2var_epi32(first, odd, second));
      }
    }
  }
}

template <bool kFourBits>
SHEAF_AVX512 void add_as(const GroupSums& s) {
  constexpr int64_t kRow = kByteTileRows;
  const __mmask16 there[2] = {first_lanes(s.columns), first_lanes(s.columns - kRow)};
  const __m512 scales[2] = {_mm512_maskz_loadu_ps(there[0], s.scales),
                            _mm512_maskz_loadu_ps(there[1], s.scales + (there[1] ? kRow : 0))};
  for (int64_t i = 0; i < (kFourBits ? 2 : 1) * kRow; ++i) {
    const __m512 step = _mm512_set1_ps(s.steps[i]);
    const int32_t* at = s.sums + i / kRow * 2 * kByteTileSums + i % kRow * kRow;
    float* to = s.totals + i * kBytePanelColumns;
    for (int64_t h = 0; h < 2; ++h, at += kByteTileSums, to += kRow) {
      __m512i sum = _mm512_loadu_si512(at);
      if (!kFourBits) sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), _mm512_loadu_si512(at + 2 * kByteTileSums));
      _mm512_storeu_ps(to,
                       _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), step), scales[h], _mm512_loadu_ps(to)));
    }
  }
}
SHEAF_AVX512 inline void add(const GroupSums& s, const ByteLayout& g) {
  g.four_bits ? add_as<true>(s) : add_as<false>(s);
}
#undef SHEAF_AVX512

// Registers as in amx_tiles.h: sums 0 to 3, tiles of x 4 and 5, of weights 6 and 7.
__attribute__((target("amx-tile,amx-int8"))) inline void multiply(int32_t* sums, const int8_t* x, const int8_t* weights,
                                                                  const ByteLayout& g) {
  const int64_t tile = kByteTileRows * g.depth;
  configure_tiles(g.depth);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < g.steps; ++step, x += 2 * tile, weights += 2 * tile) {
    _tile_loadd(4, x, g.depth);
    _tile_loadd(6, weights, kLine);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, weights + tile, kLine);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(5, x + tile, g.depth);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_stored(0, sums, kLine);
  _tile_stored(1, sums + kByteTileSums, kLine);
  _tile_stored(2, sums + 2 * kByteTileSums, kLine);
  _tile_stored(3, sums + 3 * kByteTileSums, kLine);
}

}  // namespace sheaf::kernels::avx
