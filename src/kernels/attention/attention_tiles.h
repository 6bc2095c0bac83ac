// Micro-kernels of bf16 attention on a matrix unit (routines/attention/args.h, sums by tiles), in addition to the
// packing of gemm/amx.h. Scores are transposed, [column][row], as in the other algorithms: 32 rows are the lanes.
#pragma once
#include "kernels/gemm/amx.h"

namespace sheaf::kernels {

struct AttentionTiles {
  // c (+)= a b for a panel of a, a panel of b, and 32 × 32 sums; `ld` is the leading dimension of c.
  void (*multiply)(int64_t steps, const BFloat16* a, const BFloat16* b, float* c, int64_t ld, bool first);
  // Rounds n rows of 32 numbers to bf16 and pads them with zeros to a multiple of 32 rows. pack_right: each 32 rows are
  // a tile of k in a panel of b. pack_left: each 32 rows are a panel of a with one tile of k.
  void (*pack_right)(int64_t n, const float* from, BFloat16* to);
  void (*pack_left)(int64_t n, const float* from, BFloat16* to);
  // y[i][c] *= factor[c] for n rows of 32 numbers.
  void (*scale)(int64_t n, float* y, const float* factor);
  // y[i][c] = fma(part[i][c], second[c], y[i][c] first[c]).
  void (*join)(int64_t n, float* y, const float* part, const float* first, const float* second);
};

// Uses the matrix unit if the processor has one; else a slow plain C++ version, for tests.
const AttentionTiles& attention_tiles();

}  // namespace sheaf::kernels
