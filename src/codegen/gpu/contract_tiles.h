// A template for products of 4- and 8-byte types with several rows and columns, to the bits of routines/gemm: tiles of
// A and B are copied to memory of the block in the background, several steps of k ahead of the multiplications, so that
// products with few tiles do not wait for each step's memory.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/gemm/args.h"

namespace sheaf::codegen::gpu {

// Whether this template computes the product; it needs copies in the background, from sm_80 on.
bool suits_tiles(const routines::GemmArgs<>& g);

// A block has a tile of C, each of its threads `own` rows and columns of that; a step takes `depth` terms of 4 bytes,
// or half as many of 8. With `splits`, blocks of k are computed
// by themselves, and another launch adds them in order: for products with too few tiles.
struct TileShape {
  int rows, columns, own_rows, own_columns, depth;
  bool splits = false;
  int threads() const { return rows / own_rows * (columns / own_columns); }
  friend bool operator==(const TileShape&, const TileShape&) = default;
};
inline constexpr TileShape kTileShapes[] = {{64, 64, 8, 4, 16}, {64, 32, 4, 4, 32}, {32, 32, 4, 2, 32}};
TileShape tile_shape_of(const routines::GemmArgs<>& g);

// The launches of a product. `buffers`: the kernel's numbers of a, b and c. `aligned`: all begin at multiples of 16
// bytes.
std::vector<EmittedLaunch> emit_tiles(const routines::GemmArgs<>& g, const TileShape& shape,
                                      const std::vector<int32_t>& buffers, const std::string& prefix, Helpers& helpers,
                                      bool aligned);

}  // namespace sheaf::codegen::gpu
