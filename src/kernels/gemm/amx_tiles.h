// The micro-kernels of amx.h with the instructions of the matrix unit. Included by amx.cpp.
#pragma once
#include <immintrin.h>

#include <algorithm>

#include "kernels/gemm/amx.h"
#include "kernels/simd/simd.h"
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

// Tile registers: 0 to 3 hold the sums, 4 and 5 tiles of A, 6 and 7 tiles of B.
template <int kRowTiles>
void multiply_tiles(int64_t steps, const BFloat16* a, const BFloat16* b, float* c, bool first) {
  constexpr int64_t kLine = 64, kTile = kAmxRows * kAmxRows;
  constexpr bool kTwo = kRowTiles > 1;
  configure_tiles(kLine);
  if (first) {
    _tile_zero(0);
    _tile_zero(1);
    if (kTwo) _tile_zero(2);
    if (kTwo) _tile_zero(3);
  } else {
    _tile_loadd(0, c, kLine);
    _tile_loadd(1, c + kTile, kLine);
    if (kTwo) _tile_loadd(2, c + 2 * kTile, kLine);
    if (kTwo) _tile_loadd(3, c + 3 * kTile, kLine);
  }
  for (; steps > 0; --steps) {
    _tile_loadd(4, a, kLine);
    _tile_loadd(6, b, kLine);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kAmxElements, kLine);
    _tile_dpbf16ps(1, 4, 7);
    if (kTwo) {
      _tile_loadd(5, a + kAmxElements, kLine);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    a += 2 * kAmxElements, b += 2 * kAmxElements;
  }
  _tile_stored(0, c, kLine);
  _tile_stored(1, c + kTile, kLine);
  if (kTwo) _tile_stored(2, c + 2 * kTile, kLine);
  if (kTwo) _tile_stored(3, c + 3 * kTile, kLine);
}

// One tile in 16 vector registers: as rows of 32 k, or zipped (interleaved): a register holds two k of each of 16 rows.
// Each form is the transpose of the other, with elements of four bytes.
struct PackedTile {
  __m512 lines[kAmxRows];

  static bool is_whole(int64_t rows, int64_t k) { return rows >= kAmxRows && k >= kAmxDepth; }
  static __mmask32 first_bits(int64_t n) { return n >= 32 ? ~0u : (1u << n) - 1; }

  // Loads rows that are contiguous along k, `apart` elements apart.
  [[gnu::always_inline]] void load_rows(const BFloat16* from, int64_t apart, int64_t rows, int64_t k) {
    if (is_whole(rows, k)) {
#pragma GCC unroll 16
      for (int i = 0; i < kAmxRows; ++i)
        lines[i] = _mm512_loadu_ps(from + i * apart);
      return;
    }
    const __mmask32 there = first_bits(k);
#pragma GCC unroll 16
    for (int i = 0; i < kAmxRows; ++i)
      lines[i] =
          i < rows ? _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(there, from + i * apart)) : _mm512_setzero_ps();
  }
  // load_rows of a whole tile, and transpose; loading quarters of rows does part of the transposition.
  [[gnu::always_inline]] void load_rows_transposed(const BFloat16* from, int64_t apart) {
    auto quarter = [&](int row, int q) __attribute__((always_inline)) {
      return _mm_loadu_ps(reinterpret_cast<const float*>(from + row * apart + 8 * q));
    };
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      __m512 rows[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        rows[r] = _mm512_castps128_ps512(quarter(r, q));
        rows[r] = _mm512_insertf32x4(rows[r], quarter(r + 4, q), 1);
        rows[r] = _mm512_insertf32x4(rows[r], quarter(r + 8, q), 2);
        rows[r] = _mm512_insertf32x4(rows[r], quarter(r + 12, q), 3);
      }
      auto pairs = [](__m512 x, __m512 y, auto unpack)
                       __attribute__((always_inline)) { return _mm512_castps_pd(unpack(x, y)); };
      auto low = [](__m512 x, __m512 y) __attribute__((always_inline)) { return _mm512_unpacklo_ps(x, y); };
      auto high = [](__m512 x, __m512 y) __attribute__((always_inline)) { return _mm512_unpackhi_ps(x, y); };
      const __m512d a = pairs(rows[0], rows[1], low), b = pairs(rows[2], rows[3], low),
                    c = pairs(rows[0], rows[1], high), d = pairs(rows[2], rows[3], high);
      lines[4 * q] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      lines[4 * q + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
      lines[4 * q + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
      lines[4 * q + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
    }
  }
  // Loads the zipped form of an operand that is contiguous along the rows.
  [[gnu::always_inline]] void load_zipped(const BFloat16* from, int64_t apart, int64_t rows, int64_t k) {
    const __m512i order = _mm512_load_si512(&kZipOrder);
    if (is_whole(rows, k)) {
      auto half = [](const BFloat16* at) __attribute__((always_inline)) {
        return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
      };
#pragma GCC unroll 16
      for (int p = 0; p < kAmxRows; ++p, from += 2 * apart)
        lines[p] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(half(from), order, half(from + apart)));
      return;
    }
    const __mmask32 there = first_bits(rows);
#pragma GCC unroll 16
    for (int p = 0; p < kAmxRows; ++p) {
      const __mmask32 even = 2 * p < k ? there : 0, odd = 2 * p + 1 < k ? there : 0;
      const BFloat16* at = from + (even ? 2 * p * apart : 0);
      lines[p] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(_mm512_maskz_loadu_epi16(even, at), order,
                                                               _mm512_maskz_loadu_epi16(odd, at + (odd ? apart : 0))));
    }
  }
  [[gnu::always_inline]] void transpose() { avx512::Simd<float>::transpose(lines); }
  [[gnu::always_inline]] void store(BFloat16* to) const {
#pragma GCC unroll 16
    for (int i = 0; i < kAmxRows; ++i)
      _mm512_storeu_ps(to + i * kAmxDepth, lines[i]);
  }
};

template <class Out>
void write_tiles(Out* to, int64_t apart, const float* sums, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = kAmxRows * kAmxRows;
  for (int64_t r = 0; r < rows; ++r, to += apart) {
    const float* from = sums + r / kAmxRows * 2 * kTile + r % kAmxRows * kAmxRows;
    for (int64_t j = 0; j < columns; j += kAmxPanel, from += kAmxResult) {
      const __m512 left = _mm512_load_ps(from), right = _mm512_load_ps(from + kTile);
      const __mmask32 there = PackedTile::first_bits(columns - j);
      if constexpr (std::is_same_v<Out, float>) {
        _mm512_mask_storeu_ps(to + j, static_cast<__mmask16>(there), left);
        _mm512_mask_storeu_ps(to + j + kAmxRows, static_cast<__mmask16>(there >> 16), right);
      } else {
        // This instruction flushes subnormals, but sums are never subnormal, so it rounds like to_bf16.
        _mm512_mask_storeu_epi16(to + j, there, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(right, left)));
      }
    }
  }
}

// `zips`: packs tiles in the zipped form, that of B.
template <bool zips>
void pack_tiles(BFloat16* dst, const MatrixView<BFloat16>& src, int64_t i0, int64_t l0, int64_t used, int64_t k,
                LineCursor& ahead) {
  for (int64_t l = 0; l < k; l += kAmxDepth)
    for (int64_t i = 0; i < kAmxPanel; i += kAmxRows, dst += kAmxElements) {
      for (int64_t line = 0; line < kAmxRows && !ahead.at_end(); ++line)
        _mm_prefetch(ahead.take(), _MM_HINT_T1);
      const BFloat16* from = src.at(i0 + i, l0 + l);
      const int64_t rows = std::clamp<int64_t>(used - i, 0, kAmxRows), terms = std::min(kAmxDepth, k - l);
      BFloat16 near[kAmxElements];
      const bool zipped = src.k != 1 && src.minor == 1;
      PackedTile tile;
      if (rows == 0) {
        std::fill_n(dst, kAmxElements, BFloat16{});
        continue;
      }
      if (zips && src.k == 1 && PackedTile::is_whole(rows, terms)) {
        tile.load_rows_transposed(from, src.minor);
        tile.store(dst);
        continue;
      }
      if (zipped) {
        tile.load_zipped(from, src.k, rows, terms);
      } else if (src.k == 1) {
        tile.load_rows(from, src.minor, rows, terms);
      } else {
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t t = 0; t < terms; ++t)
            near[r * kAmxDepth + t] = from[r * src.minor + t * src.k];
        tile.load_rows(near, kAmxDepth, rows, terms);
      }
      if (zipped != zips) tile.transpose();
      tile.store(dst);
    }
}

constexpr AmxKernels kAmxKernels{pack_tiles<false>,
                                 pack_tiles<true>,
                                 {multiply_tiles<1>, multiply_tiles<2>},
                                 {write_tiles<float>, write_tiles<BFloat16>}};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace
}  // namespace sheaf::kernels
