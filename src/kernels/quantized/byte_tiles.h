// Micro-kernels of products with quantized weights that multiply bytes and accumulate in 32 bits: with the matrix unit
// of x86-64 (AMX), whose tile registers hold 16 rows of at most 64 bytes, or with vector instructions (VNNI).
//
// A group of rows of the weights is divided into steps of `depth` k. For each step, a panel of x has two tiles of
// [row][k]: for weights of 8 bits the high and the low bytes of 16 rows, for 4 bits the bytes of 32 rows. A panel of
// weights has two tiles of 16 columns, [k / 4][column][4]. A group's sums are four tiles, [tile of x][tile of weights].
#pragma once
#include <cstdint>

#include "routines/quantized/args.h"

namespace sheaf::kernels {

inline constexpr int64_t kByteTileRows = 16;
inline constexpr int64_t kByteTileSums = kByteTileRows * kByteTileRows;
inline constexpr int64_t kBytePanelColumns = 2 * kByteTileRows;

// The layout of the groups of a product.
struct ByteLayout {
  bool four_bits;
  int64_t depth, steps;
  int64_t group() const { return depth * steps; }
  int64_t panel_rows() const { return four_bits ? 2 * kByteTileRows : kByteTileRows; }
  int64_t panel_bytes() const { return 2 * kByteTileRows * group(); }  // of x as well as of weights, for a group
};

// A group of some columns in its stored layout: `tiles` tiles of four columns, `tile_bytes` apart; at most eight.
struct StoredGroup {
  const uint8_t* bytes;
  int64_t tile_bytes, tiles;
};

// Adjacent groups of a panel of x and of a panel of weights, whose products are scaled and added to a panel of results,
// [row][32 columns].
struct GroupRun {
  const int8_t* x;
  const float* steps;  // of the rows of x
  const int8_t* weights;
  const float* scales;  // of `columns` columns
  int64_t scales_apart, count, columns;
  float* totals;
};
// The sums of one group.
struct GroupSums {
  const int32_t* sums;
  const float* steps;
  const float* scales;
  int64_t columns;
  float* totals;
};

struct ByteTileKernels {
  // Packs a group of `rows` contiguous rows of x, `apart` elements apart, and pads the panel with zero rows.
  void (*pack_x)(int8_t* to, float* steps, const float* x, int64_t apart, int64_t rows, const ByteLayout& layout);
  void (*pack_weights)(int8_t* to, const StoredGroup& from, const ByteLayout& layout);
  void (*add_groups)(const GroupRun& run, const ByteLayout& layout);
};

// The kernels with the best instructions of this processor, or in plain C++.
const ByteTileKernels& byte_tile_kernels();
// The kernels in plain C++, for tests.
const ByteTileKernels& plain_byte_tile_kernels();

}  // namespace sheaf::kernels
