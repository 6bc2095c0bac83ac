// Functions shared by the algorithms that pack: packing panels, and computing the tiles of C between two panels. K are
// the micro-kernels (micro_kernels.h, bf16_dot.h), S is the type in memory, T the type of the arithmetic.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/packing.h"
#include "kernels/simd/narrow.h"

namespace sheaf::kernels {

// k of a panel, rounded up to a multiple of kTogether.
template <class K>
int64_t held(int64_t k) {
  return round_up(k, K::kTogether);
}

// Packs a panel in the layout that the tiles of K read.
template <class K, class S>
void pack_panel(const K& kern, typename K::Packed* dst, const MatrixView<S>& src, int64_t i0, int64_t l0, int64_t used,
                int64_t width, int64_t k) {
  if constexpr (K::kTogether > 1) {
    kern.pack(dst, src, i0, l0, used, width, k);
  } else if constexpr (!std::is_same_v<typename K::Packed, S>) {
    constexpr int64_t kSome = 64, kMost = std::max(kMaxTileRows, kMaxTileColumns);
    if (src.minor == 1) {
      widen_rows(k, used, src.at(i0, l0), src.k, dst, width);
      for (int64_t l = 0; used < width && l < k; ++l)
        std::fill(dst + l * width + used, dst + (l + 1) * width, 0.0f);
      return;
    }
    // If k is contiguous, widen some k at a time with vectors first, then pack; for bf16 only if pack() is not faster.
    if (src.k != 1 || used > kMost || !(kern.pack_transposed || std::is_same_v<S, Float16>))
      return pack(dst, src, i0, l0, used, width, k);
    float wide[kMost * kSome];
    for (int64_t l = 0; l < k; l += kSome) {
      const int64_t depth = std::min(kSome, k - l);
      widen_rows(used, depth, src.at(i0, l0 + l), src.minor, wide, depth);
      pack_panel(kern, dst + l * width, MatrixView<float>{wide, depth, 1}, 0, 0, used, width, depth);
    }
  } else {
    if (kern.pack_transposed && src.k == 1 && src.minor != 1)
      return kern.pack_transposed(dst, src.at(i0, l0), src.minor, used, width, k);
    pack(dst, src, i0, l0, used, width, k);
  }
}

// Packs adjacent panels of `width`; the last may be narrower. dst holds consecutive panels, each [k][width of the
// panel].
template <class K, class S, class Width>
void pack_panels(const K& kern, typename K::Packed* dst, const MatrixView<S>& src, int64_t i0, int64_t l0, int64_t used,
                 int64_t width, int64_t k, Width&& width_of) {
  // If the rows across panels are contiguous, pack a few rows of all panels at a time, to read each cache line once.
  int64_t part = src.minor == 1 ? 8 : k;
  for (int64_t l = 0; l < k; l += part) {
    if (src.minor == 1)
      for (int64_t r = l + part; r < std::min(k, l + 2 * part); ++r)
        for (int64_t i = 0; i < used; i += 64 / sizeof(S))
          __builtin_prefetch(src.at(i0 + i, l0 + r));
    for (int64_t i = 0; i < used; i += width) {
      int64_t here = std::min(width, used - i), w = width_of(here);
      pack_panel(kern, dst + i * held<K>(k) + l * w, src, i0 + i, l0 + l, here, w, std::min(part, k - l));
    }
  }
}
template <class K, class S>
void pack_rows(const K& kern, typename K::Packed* dst, const MatrixView<S>& a, int64_t i0, int64_t l0, int64_t rows,
               int64_t k) {
  pack_panels(kern, dst, a, i0, l0, rows, kern.rows, k, [&](int64_t used) { return kern.height(used); });
}
template <class K, class S>
void pack_columns(const K& kern, typename K::Packed* dst, const MatrixView<S>& b, int64_t j0, int64_t l0,
                  int64_t columns, int64_t k) {
  pack_panels(kern, dst, b, j0, l0, columns, kern.columns, k, [&](int64_t used) { return round_up(used, kern.lanes); });
}

// Computes the tiles of `rows` rows by one panel of B with `columns` columns, over all k of a block.
template <class T, class K>
void multiply_panel(const K& kern, const typename K::Packed* a, const typename K::Packed* b, T* c, int64_t ldc,
                    int64_t rows, int64_t columns, int64_t k, bool first, Prefetch& prefetch) {
  int64_t vectors = pieces(columns, kern.lanes), depth = held<K>(k);
  for (int64_t i = 0; i < rows;) {
    int64_t used = std::min(kern.rows, rows - i), tiles = std::max<int64_t>(1, (rows - i) / kern.rows);
    auto run = kern.tiles[kern.form(used)][vectors - 1];
    T* to = c + i * ldc;
    const typename K::Packed* pa = a + i * depth;
    if (used == kern.height(used) && columns == vectors * kern.lanes) {
      run(tiles, depth, pa, b, to, ldc, first, prefetch);
    } else {
      tiles = 1;
      at_edge(to, ldc, used, columns, first, [&](T* t, int64_t ld) { run(1, depth, pa, b, t, ld, first, prefetch); });
    }
    prefetch.pass(tiles);
    i += tiles * kern.rows;
  }
}

}  // namespace sheaf::kernels
