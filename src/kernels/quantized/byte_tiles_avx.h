// The micro-kernels of byte_tiles.h with AVX-512; products use the matrix unit or VNNI. VNNI takes one operand as
// unsigned bytes, so x is packed with 128 added. Included by byte_tiles.cpp.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "kernels/quantized/byte_tiles.h"
#include "kernels/quantized/groups.h"
#include "kernels/simd/tile_config.h"

namespace sheaf::kernels::avx {

#define SHEAF_AVX512 __attribute__((target("avx512f,avx512bw,fma")))
constexpr int64_t kLine = 64;  // bytes of a vector, and of a row of a tile of weights

SHEAF_AVX512 inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << std::max<int64_t>(n, 0)) - 1);
}

// The form of x that the instructions take: signed bytes, or bytes with 128 added.
enum class XBytes { Signed, Shifted };

// Packs a row of a group: its bytes to `first`, for 8 bits the low bytes to `second`; tiles of the next step are
// `step_bytes` further on. The group size is a multiple of eight. Returns the quantization step.
template <bool kFourBits, XBytes kBytes>
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
  auto store = [](int8_t* to, __mmask16 mask, __m512i count) SHEAF_AVX512 {
    if (kBytes == XBytes::Shifted) count = _mm512_xor_si512(count, _mm512_set1_epi32(128));
    _mm512_mask_cvtepi32_storeu_epi8(to, mask, count);
  };
  for (int64_t at = 0; at < g.group(); at += g.depth, first += step_bytes, second += step_bytes)
    for (int64_t l = 0; l < g.depth; l += 16) {
      const __mmask16 there = finite ? first_lanes(g.depth - l) : 0, all = first_lanes(g.depth - l);
      const __m512 v = _mm512_add_ps(_mm512_mul_ps(_mm512_maskz_loadu_ps(there, x + at + l), inverse), round);
      const __m512i count = _mm512_sub_epi32(_mm512_castps_si512(v), _mm512_castps_si512(round));
      if (kFourBits) {
        store(first + l, all, count);
      } else {
        const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(count, _mm512_set1_epi32(128)), 8);
        store(first + l, all, high);
        store(second + l, all, count);
      }
    }
  return step.step;
}

template <bool kFourBits, XBytes kBytes>
SHEAF_AVX512 void pack_x_as(int8_t* to, float* steps, const float* x, int64_t apart, int64_t rows,
                            const ByteLayout& g) {
  const int64_t tile = kByteTileRows * g.depth;
  for (int64_t i = 0; i < g.panel_rows(); ++i) {
    int8_t* row = to + i / kByteTileRows * tile + i % kByteTileRows * g.depth;
    if (i < rows) {
      steps[i] = pack_row<kFourBits, kBytes>(row, row + tile, 2 * tile, x + i * apart, g);
      continue;
    }
    steps[i] = 0;
    for (int64_t s = 0; s < g.steps; ++s)
      for (int64_t part = 0; part < (kFourBits ? 1 : 2); ++part)
        std::fill_n(row + s * 2 * tile + part * tile, g.depth,
                    static_cast<int8_t>(kBytes == XBytes::Shifted ? 128 : 0));
  }
}
template <XBytes kBytes>
void pack_x(int8_t* to, float* steps, const float* x, int64_t apart, int64_t rows, const ByteLayout& g) {
  (g.four_bits ? pack_x_as<true, kBytes> : pack_x_as<false, kBytes>)(to, steps, x, apart, rows, g);
}

// The address of row `line` (four k) in the tiles of a group, for the first 16 columns.
inline int8_t* line_of(int8_t* to, int64_t line, const ByteLayout& g) {
  const int64_t lines = g.depth / 4;
  return to + line / lines * 2 * kByteTileRows * g.depth + line % lines * kLine;
}

SHEAF_AVX512 inline void pack_weights(int8_t* to, const StoredGroup& from, const ByteLayout& g) {
  const int64_t tile = kByteTileRows * g.depth, rows = g.group() / 8;  // stored rows: eight k of each of four columns
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
                odd = _mm512_add_epi32(even, _mm512_set1_epi32(1)), mask = _mm512_set1_epi8(15),
                eight = _mm512_set1_epi8(8);
  for (int64_t half = 0; half < 2; ++half, to += tile) {
    const uint8_t* bytes = from.bytes + half * 4 * from.tile_bytes;
    const int64_t tiles = from.tiles - half * 4;  // existing ones, of four
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

#define SHEAF_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni,fma")))
// A group with VNNI. Accumulates sixteen vectors at a time: eight rows of x for 4 bits, or both bytes of four rows for
// 8 bits, times both halves of the columns. kDepth: the layout's depth if a group is one step, else 0.
template <bool kFourBits, int64_t kDepth>
SHEAF_VNNI void add_group(const GroupRun& run, const ByteLayout& layout) {
  constexpr int64_t kRows = kFourBits ? 8 : 4;
  const ByteLayout g{kFourBits, kDepth == 0 ? layout.depth : kDepth, kDepth == 0 ? layout.steps : 1};
  const int64_t tile = kByteTileRows * g.depth;
  const float* const steps = run.steps;
  float* to = run.totals;
  const __mmask16 there[2] = {first_lanes(run.columns), first_lanes(run.columns - kByteTileRows)};
  const __m512 scales[2] = {_mm512_maskz_loadu_ps(there[0], run.scales),
                            _mm512_maskz_loadu_ps(there[1], run.scales + (there[1] ? kByteTileRows : 0))};
  // The product with x + 128 is too large by 128 times the sum of the weights: sums start from minus that.
  __m512i begin[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (int64_t step = 0; step < g.steps; ++step)
    _Pragma("GCC unroll 16") for (int64_t l = 0; l < g.depth / 4; ++l) for (int64_t half = 0; half < 2; ++half)
        begin[half] = _mm512_dpbusd_epi32(begin[half], _mm512_set1_epi8(-128),
                                          _mm512_loadu_si512(run.weights + (2 * step + half) * tile + l * kLine));
  for (__m512i& b : begin)
    b = _mm512_sub_epi32(_mm512_setzero_si512(), b);
  // Not unrolled: several copies of the loop body would not fit in the micro-op cache.
  _Pragma("GCC unroll 1") for (int64_t row = 0; row < g.panel_rows(); row += kRows, to += kRows * kBytePanelColumns) {
    __m512i sum[8][2];  // 8 bits: four rows of high bytes, then their low ones
    _Pragma("GCC unroll 8") for (auto& s : sum) s[0] = begin[0], s[1] = begin[1];
    const int8_t *w = run.weights, *x = run.x + row / kByteTileRows * tile + row % kByteTileRows * g.depth;
    for (int64_t step = 0; step < g.steps; ++step, w += 2 * tile, x += 2 * tile)
      _Pragma("GCC unroll 16") for (int64_t l = 0; l < g.depth; l += 4) {
        const __m512i here[2] = {_mm512_loadu_si512(w + l / 4 * kLine), _mm512_loadu_si512(w + tile + l / 4 * kLine)};
        _Pragma("GCC unroll 8") for (int64_t i = 0; i < 8; ++i) {
          int32_t four;
          std::memcpy(&four, x + (kFourBits ? i * g.depth : i / 4 * tile + i % 4 * g.depth) + l, sizeof four);
          const __m512i all = _mm512_set1_epi32(four);
          sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], all, here[0]);
          sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], all, here[1]);
        }
      }
    _Pragma("GCC unroll 8") for (int64_t i = 0; i < kRows; ++i) {
      const __m512 step = _mm512_set1_ps(steps[row + i]);
      _Pragma("GCC unroll 2") for (int64_t half = 0; half < 2; ++half) {
        float* const here = to + i * kBytePanelColumns + half * kByteTileRows;
        __m512i s = sum[i][half];
        if constexpr (!kFourBits) s = _mm512_add_epi32(_mm512_slli_epi32(s, 8), sum[i + 4][half]);
        _mm512_storeu_ps(
            here, _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(s), step), scales[half], _mm512_loadu_ps(here)));
      }
    }
  }
}
#undef SHEAF_VNNI

template <bool kFourBits>
void add_groups_of(const GroupRun& run, const ByteLayout& g) {
  auto* add = g.steps != 1    ? add_group<kFourBits, 0>
              : g.depth == 32 ? add_group<kFourBits, 32>
              : g.depth == 64 ? add_group<kFourBits, 64>
                              : add_group<kFourBits, 0>;
  GroupRun one = run;
  for (int64_t q = 0; q < run.count; ++q) {
    add(one, g);
    one.x += g.panel_bytes(), one.weights += g.panel_bytes();
    one.steps += g.panel_rows(), one.scales += run.scales_apart;
  }
}
inline void add_groups(const GroupRun& run, const ByteLayout& g) {
  g.four_bits ? add_groups_of<true>(run, g) : add_groups_of<false>(run, g);
}

// Tile registers as in amx_tiles.h: 0 to 3 hold the sums, 4 and 5 tiles of x, 6 and 7 tiles of weights.
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
