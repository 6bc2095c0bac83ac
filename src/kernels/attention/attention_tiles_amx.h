// Implements attention_tiles.h with the matrix unit of x86-64 (AMX). Included by attention_tiles.cpp.
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "kernels/attention/attention_tiles.h"
#include "kernels/simd/tile_config.h"

namespace sheaf::kernels {
namespace {

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-bf16,avx512bf16,avx512bw,avx512f,avx2,fma,f16c"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-bf16,avx512bf16,avx512bw,avx512f,avx2,fma,f16c")
#endif

// Tile registers as in gemm/amx_tiles.h: 0 to 3 hold the sums, 4 and 5 tiles of a, 6 and 7 tiles of b.
void multiply_tiles(int64_t steps, const BFloat16* a, const BFloat16* b, float* c, int64_t ld, bool first) {
  constexpr int64_t kLine = 64;
  configure_tiles(kLine);
  const int64_t row = ld * static_cast<int64_t>(sizeof(float));
  float* const below = c + kAmxRows * ld;
  if (first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, c, row);
    _tile_loadd(1, c + kAmxRows, row);
    _tile_loadd(2, below, row);
    _tile_loadd(3, below + kAmxRows, row);
  }
  for (; steps > 0; --steps, a += 2 * kAmxElements, b += 2 * kAmxElements) {
    _tile_loadd(4, a, kLine);
    _tile_loadd(6, b, kLine);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kAmxElements, kLine);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + kAmxElements, kLine);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, row);
  _tile_stored(1, c + kAmxRows, row);
  _tile_stored(2, below, row);
  _tile_stored(3, below + kAmxRows, row);
}

// Rounds sixteen numbers of `low` and sixteen of `high` to bf16; the instruction treats subnormal inputs as zero.
[[gnu::always_inline]] inline __m512i rounded_pair(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

void pack_right_tiles(int64_t n, const float* from, BFloat16* to) {
  alignas(64) static constexpr auto kZip = [] {
    std::array<int16_t, 32> order{};
    for (size_t i = 0; i < 32; ++i)
      order[i] = static_cast<int16_t>(i / 2 + i % 2 * 16);
    return order;
  }();
  const __m512i zip = _mm512_load_si512(kZip.data());
  const int64_t padded = round_up(n, kAmxPanel);
  for (int64_t k = 0; k < padded; k += 2, from += 2 * kAmxPanel, to += kAmxDepth) {
    if (k > 0 && k % kAmxPanel == 0) to += kAmxElements;  // skip the second tile of the previous step
    for (int64_t tile = 0; tile < 2; ++tile) {
      const float* at = from + tile * kAmxRows;
      const __m512 even = k < n ? _mm512_loadu_ps(at) : _mm512_setzero_ps(),
                   odd = k + 1 < n ? _mm512_loadu_ps(at + kAmxPanel) : _mm512_setzero_ps();
      _mm512_storeu_si512(to + tile * kAmxElements, _mm512_permutexvar_epi16(zip, rounded_pair(even, odd)));
    }
  }
}

void pack_left_tiles(int64_t n, const float* from, BFloat16* to) {
  const int64_t padded = round_up(n, kAmxPanel);
  for (int64_t i = 0; i < n; ++i, from += kAmxPanel, to += kAmxDepth)
    _mm512_storeu_si512(to, rounded_pair(_mm512_loadu_ps(from), _mm512_loadu_ps(from + kAmxRows)));
  std::fill_n(to, (padded - n) * kAmxDepth, BFloat16{});
}

void scale_by_columns(int64_t n, float* y, const float* factor) {
  const __m512 one = _mm512_set1_ps(1), left = _mm512_loadu_ps(factor), right = _mm512_loadu_ps(factor + kAmxRows);
  if (_mm512_cmpneq_ps_mask(left, one) == 0 && _mm512_cmpneq_ps_mask(right, one) == 0) return;
  for (int64_t i = 0; i < n; ++i, y += kAmxPanel) {
    _mm512_storeu_ps(y, _mm512_mul_ps(_mm512_loadu_ps(y), left));
    _mm512_storeu_ps(y + kAmxRows, _mm512_mul_ps(_mm512_loadu_ps(y + kAmxRows), right));
  }
}

void join_by_columns(int64_t n, float* y, const float* part, const float* first, const float* second) {
  for (int64_t c = 0; c < kAmxPanel; c += kAmxRows) {
    const __m512 a = _mm512_loadu_ps(first + c), b = _mm512_loadu_ps(second + c);
    for (int64_t i = c; i < n * kAmxPanel; i += kAmxPanel)
      _mm512_storeu_ps(y + i, _mm512_fmadd_ps(_mm512_loadu_ps(part + i), b, _mm512_mul_ps(_mm512_loadu_ps(y + i), a)));
  }
}

constexpr AttentionTiles kAmxTiles{multiply_tiles, pack_right_tiles, pack_left_tiles, scale_by_columns,
                                   join_by_columns};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace
}  // namespace sheaf::kernels
