// Register tiles of products of bf16 by instructions for them, whose bits scalar/bf16_dot.h defines. algorithms.h runs
// them.
#pragma once
#include <array>
#include <cstdint>

#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/packing.h"

namespace sheaf::kernels {

struct Bf16DotKernels {
  using Packed = BFloat16;
  static constexpr int64_t kPrefetchDepth = 8,
                           kPrefetches = 3;  // for every eight k a tile asks for lines at `at` and once and
                                             // twice `step` behind it, then moves on by `turn`
#if defined(__aarch64__)
  static constexpr int64_t kTogether = 4;  // k of a row that lie together: packed operands are [k / 4][rows][4]
#else
  static constexpr int64_t kTogether = 2;
#endif
  using Tiles = void (*)(int64_t tiles, int64_t k, const Packed* a, const Packed* b, float* c, int64_t ldc, bool first,
                         Prefetch ahead);
  int64_t rows, middle_rows, columns, lanes;
  double cycles;  // of the largest tile for each k
  // As `pack` in packing.h, in that order; k is filled up with zeros.
  void (*pack)(Packed* dst, const Operand<Packed>& src, int64_t i0, int64_t l0, int64_t used, int64_t width, int64_t k);
  std::array<std::array<Tiles, 3>, 4> tiles;  // of 2, 4, `middle_rows` and `rows` rows, by vectors of columns, less one
  Tiles beside;  // the largest, several side by side: b is [tile][k / kTogether][columns][kTogether]

  double tile_cycles() const { return cycles; }
  int form(int64_t m) const { return m <= 2 ? 0 : m <= 4 ? 1 : m <= middle_rows ? 2 : 3; }
  int64_t height(int64_t m) const { return m > middle_rows ? rows : m > 4 ? middle_rows : m > 2 ? 4 : 2; }
};

// Where scalar::bf16_in_pairs() alone.
const Bf16DotKernels& bf16_dot_kernels();

}  // namespace sheaf::kernels
