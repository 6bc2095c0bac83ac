// GEMM micro-kernels with bf16 dot-product instructions (bfmmla, vdpbf16ps), with the bits of scalar/bf16_dot.h.
#pragma once
#include <array>
#include <cstdint>

#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/packing.h"

namespace sheaf::kernels {

struct Bf16DotKernels {
  using Packed = BFloat16;
  // Every eight k, a tile prefetches the lines at `at`, `at + step` and `at + 2 step`, then advances `at` by `period`.
  static constexpr int64_t kPrefetchDepth = 8, kPrefetches = 3;
#if defined(__aarch64__)
  static constexpr int64_t kTogether = 4;  // consecutive k of a row: packed operands are [k / 4][rows][4]
#else
  static constexpr int64_t kTogether = 2;
#endif
  using Tiles = void (*)(int64_t tiles, int64_t k, const Packed* a, const Packed* b, float* c, int64_t ldc, bool first,
                         Prefetch prefetch);
  int64_t rows, middle_rows, columns, lanes;
  double cycles;  // of the largest tile, per k
  // Like `pack` in packing.h, in the layout above; k is padded with zeros.
  void (*pack)(Packed* dst, const MatrixView<Packed>& src, int64_t i0, int64_t l0, int64_t used, int64_t width,
               int64_t k);
  std::array<std::array<Tiles, 3>, 4> tiles;  // of 2, 4, `middle_rows`, `rows` rows; by vectors of columns, minus 1
  Tiles tiles_across;  // the largest tile, several side by side: b is [tile][k / kTogether][columns][kTogether]

  double tile_cycles() const { return cycles; }
  int form(int64_t m) const { return m <= 2 ? 0 : m <= 4 ? 1 : m <= middle_rows ? 2 : 3; }
  int64_t height(int64_t m) const { return m > middle_rows ? rows : m > 4 ? middle_rows : m > 2 ? 4 : 2; }
};

// Requires Target::bf16_dot.
const Bf16DotKernels& bf16_dot_kernels();

}  // namespace sheaf::kernels
