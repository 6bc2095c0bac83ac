// Micro-kernels of the matrix unit of x86-64 (AMX), with the bits of scalar::Bf16TileSum. A tile register holds 16 rows
// of 64 bytes. Operands are packed as whole tiles, in the order in which a micro-kernel loads them: a panel of 32 rows
// of A or 32 columns of B has two tiles for each 32 k. A tile of A is [row][k], a tile of B [k / 2][column][2].
#pragma once
#include <array>
#include <cstdint>
#include <tuple>

#include "kernels/gemm/line_cursor.h"
#include "kernels/gemm/packing.h"
#include "scalar/bf16_dot.h"

namespace sheaf::kernels {

inline constexpr int64_t kAmxRows = 16;  // of a tile of A or C; also columns of a tile of B or C
inline constexpr int64_t kAmxDepth = scalar::kBf16TileTerms;
inline constexpr int64_t kAmxElements = kAmxRows * kAmxDepth;  // of a tile of bf16
inline constexpr int64_t kAmxPanel = 2 * kAmxRows;
inline constexpr int64_t kAmxResult = kAmxPanel * kAmxPanel;  // f32 elements of the four tiles of a result

struct AmxKernels {
  // Packs `used` of the 32 rows from i0 on, and k terms from l0 on, padded with zeros. Prefetches one line of `ahead`
  // for each line that it reads.
  using Pack = void (*)(BFloat16* dst, const MatrixView<BFloat16>& src, int64_t i0, int64_t l0, int64_t used, int64_t k,
                        LineCursor& ahead);
  Pack pack_a, pack_b;
  // c (+)= a b for `steps` tiles of k. The four tiles of c are consecutive: [tile of rows][tile of columns].
  using Multiply = void (*)(int64_t steps, const BFloat16* a, const BFloat16* b, float* c, bool first);
  std::array<Multiply, 2> multiply;  // for one tile of rows (the first of each two of a), and for two
  // Writes the sums of `columns` columns (one panel of four tiles for each 32) to rows `apart` elements apart.
  template <class Out>
  using Write = void (*)(Out* to, int64_t apart, const float* sums, int64_t rows, int64_t columns);
  std::tuple<Write<float>, Write<BFloat16>> write;
};

// Uses the matrix unit if the processor has one; else a slow plain C++ version, for tests.
const AmxKernels& amx_kernels();

}  // namespace sheaf::kernels
