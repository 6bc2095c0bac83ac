// The configuration of the AMX tile registers that all kernels of this program share: four tiles of sums, 16 rows of 64
// bytes; two of a left operand, 16 rows of at most 64 bytes; two of a right operand, whose rows hold four bytes of each
// of 16 columns. The configuration is per thread.
#pragma once
#include <immintrin.h>

#include <array>
#include <cstdint>

namespace sheaf::kernels {

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 0, 0, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 0, 0};
};

// Indexed by the rows of a right operand. Constants, because compilers assume that the instruction reads only eight
// bytes, and would remove stores to the others.
inline constexpr std::array<TileConfig, 17> kTileConfigs = [] {
  std::array<TileConfig, 17> out;
  for (uint8_t rows = 1; rows <= 16; ++rows) {
    out[rows].row_bytes[4] = out[rows].row_bytes[5] = 4 * rows;
    out[rows].rows[6] = out[rows].rows[7] = rows;
  }
  return out;
}();

inline thread_local int64_t t_tile_depth = 0;  // the depth that this thread has configured; 0: none

// `depth`: bytes of a row of the left operand, a multiple of four.
__attribute__((target("amx-tile"))) inline void configure_tiles(int64_t depth) {
  if (t_tile_depth == depth) return;
  _tile_loadconfig(&kTileConfigs[static_cast<size_t>(depth / 4)]);
  t_tile_depth = depth;
}

}  // namespace sheaf::kernels
