// Shared parts of attention by tiles and its gradient: operands packed for the matrix unit, and scores of a row group.
#pragma once
#include "kernels/attention/attention_tiles.h"
#include "kernels/attention/parts.h"

namespace sheaf::kernels {

using routines::kTileRows;

// Elements of a panel: 32 rows, or 32 columns, by 32 k.
inline constexpr int64_t kTilePanel = kTileRows * kAmxDepth;
// The most tiles of k in a block of columns.
inline constexpr int64_t kBlockSteps = kAttentionBlock / kAmxDepth;

inline int64_t tile_steps(int64_t k) { return pieces(k, kAmxDepth); }

using Bf16Rows = MatrixRows<BFloat16, float>;

// Packs n rows from `begin` on; the terms (k) are the elements of a row.
inline void pack_rows(AmxKernels::Pack pack, const Bf16Rows& m, int64_t begin, int64_t n, int64_t width, BFloat16* to) {
  LineCursor nothing;
  for (int64_t i = 0; i < n; i += kTileRows, to += tile_steps(width) * kTilePanel)
    pack(to, {m.data, m.row, m.element}, begin + i, 0, std::min(kTileRows, n - i), width, nothing);
}

// Packs n rows from `begin` on; the terms (k) are the rows. Every 32 elements give a panel of `steps` tiles of k.
inline void pack_columns(AmxKernels::Pack pack, const Bf16Rows& m, int64_t begin, int64_t n, int64_t width,
                         int64_t steps, BFloat16* to) {
  LineCursor nothing;
  for (int64_t e = 0; e < width; e += kTileRows, to += steps * kTilePanel)
    pack(to, {m.data, m.element, m.row}, e, begin, std::min(kTileRows, width - e), n, nothing);
}

// True if a row group, which takes columns [c0, c1), can use the packed block of columns [from, to).
inline bool fits_packed(int64_t c0, int64_t c1, int64_t from, int64_t to) {
  return c0 == from && ((c1 - c0) % kAmxDepth == 0 || c1 == to);
}

// Calls f(first row, rows, width) for the panels of n rows of a group, by position in it.
template <class F>
inline void tile_panels(int64_t n, int64_t lanes, F&& f) {
  for (int64_t half = 0; half < n; half += kAttentionRows)
    panels(half, std::min(n, half + kAttentionRows), lanes, f);
}

// Views of both halves of a group.
struct TileViews {
  Views<float> halves[kTileRows / kAttentionRows];
  View<float>& at(int64_t row) { return halves[row / kAttentionRows].at(row); }
};

}  // namespace sheaf::kernels
