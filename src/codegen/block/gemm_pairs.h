// Register tiles of products of bf16 by matrix instructions, whose bits loop/pairs.h defines. gemm_forms.h runs them.
#pragma once
#include <array>
#include <cstdint>

#include "codegen/block/gemm.h"
#include "loop/scalar_ops.h"

namespace sheaf::codegen::block {

struct PairKernels {
  using Packed = loop::scalar::BFloat16;
  static constexpr int64_t kAskDepth = 8, kAsks = 3;  // for every eight k a tile asks for lines at `at` and once and twice `step` behind it, then moves on by `turn`
  static constexpr int64_t kTogether = 4;  // k of a row that lie together: packed operands are [k / 4][rows][4]
  using Tiles = void (*)(int64_t tiles, int64_t k, const Packed* a, const Packed* b, float* c, int64_t ldc, bool first, Ahead ahead);
  int64_t rows, columns, lanes;
  std::array<std::array<Tiles, 3>, 3> tiles;  // of 2, 4 and `rows` rows, by vectors of columns, less one
  Tiles beside;                               // the largest, several side by side: b is [tile][k / 4][columns][4]

  double tile_cycles() const { return static_cast<double>(rows / 2 * (columns / 2)) / kTogether / 4; }  // of the largest tile for each k
  int form(int64_t m) const { return m <= 2 ? 0 : m <= 4 ? 1 : 2; }
  int64_t height(int64_t m) const { return m > 4 ? rows : m > 2 ? 4 : 2; }
};

// Where loop::bf16_in_pairs() alone.
const PairKernels& pair_kernels();

}  // namespace sheaf::codegen::block
