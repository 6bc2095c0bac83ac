// What attention of bf16 does with a matrix unit (routines/attention/args.h, sums by tiles), beside the packing of
// gemm/amx.h. Scores lie transposed, [column][row], as in the other algorithms: 32 rows are the lanes.
#pragma once
#include "kernels/gemm/amx.h"

namespace sheaf::kernels {

struct AttentionTiles {
  // c (+)= a b for a panel of a, a panel of b, and 32 × 32 sums, in rows that are `ld` elements apart.
  void (*multiply)(int64_t steps, const BFloat16* a, const BFloat16* b, float* c, int64_t ld, bool first);
  // n rows of 32 numbers, rounded to bf16 and filled up with zeros to 32 rows: each 32 a tile of k as panel of b, or a
  // panel of a with one tile of k.
  void (*pack_right)(int64_t n, const float* from, BFloat16* to);
  void (*pack_left)(int64_t n, const float* from, BFloat16* to);
  // y[i][c] *= factor[c] for n rows of 32 numbers.
  void (*scale)(int64_t n, float* y, const float* factor);
  // y[i][c] = fma(part[i][c], second[c], y[i][c] first[c]).
  void (*join)(int64_t n, float* y, const float* part, const float* first, const float* second);
};

// By the matrix unit where the processor has one; else the same in plain C++, slow, for tests.
const AttentionTiles& attention_tiles();

}  // namespace sheaf::kernels
