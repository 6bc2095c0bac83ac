// GEMM micro-kernels (register tiles): tables of functions on packed and unpacked operands, one table for each
// instruction set. micro_kernels_code.h has their code; the algorithms of algorithms.h and few_rows.h call them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sheaf::kernels {

inline constexpr int64_t kMaxTileRows = 14, kMaxTileColumns = 32;  // of a packed tile
inline constexpr int64_t kPackedElements = 1 << 20;  // of an operand at a time: stays in the last-level cache

// Prefetch cursor of a tile. Every prefetch_depth k, a tile prefetches `at`, which advances by `step` and
// `period - step` alternately. The next tile begins at `at + tile`; after `tiles` tiles the cursor stops, so that it
// prefetches no address that may be unmapped: a failing page walk is slow. Kernels with prefetches_offsets prefetch
// `at + offsets[i]` instead: one offset for each step, and two more.
struct Prefetch {
  const std::byte* at;
  int64_t step, period, tile, tiles;
  const int64_t* offsets = nullptr;
  void pass(int64_t done) {
    if ((tiles -= done) > 0)
      at += done * tile;
    else
      step = period = 0, offsets = nullptr;
  }
};

template <class T>
using PackedTiles = void (*)(int64_t tiles, int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool first,
                             Prefetch prefetch);
template <class T>
using TileRow = std::array<PackedTiles<T>, 4>;  // by the number of vectors of columns minus 1

// Tiles on unpacked a and b: of 1, 2, 4 and `small_rows` rows, each of one and of `small_vectors` vectors.
template <class T>
using DirectTile = void (*)(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool first);
template <class T>
using DirectTiles = std::array<std::array<DirectTile<T>, 2>, 4>;

// Input and output of a tile of a sum of outer products.
template <class T>
struct Carried {
  T *sums, *c;  // null c: the partial sums are carried on
  int64_t ldc;
  bool begin, first;  // begin: the first k of a block; first: of the first block
  const std::byte* line;
  int64_t step;
};
template <class T>
using OuterTile = void (*)(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, const Carried<T>& to);

template <class T>
struct GemmKernels {
  using Packed = T;
  static constexpr int64_t kTogether = 1;  // adjacent k of a row in packed operands
  using Packing = void (*)(int64_t k, const T* a, const T* b, int64_t sbk, T* packed, T* c, int64_t ldc, bool first);
  int64_t rows, middle_rows, columns, lanes;
  int64_t prefetch_depth;           // k between two prefetches of a packed tile
  std::array<TileRow<T>, 5> tiles;  // of 1, 2, 4, `middle_rows` and `rows` rows
  std::array<Packing, 2> packing;   // tiles of two vectors, and the largest
  int64_t small_rows, small_vectors;
  DirectTiles<T> by_row, by_column;  // for a with contiguous rows, or contiguous columns
  using RowTiles = void (*)(int64_t tiles, int64_t k, const T* a, int64_t lda, T* near, const T* b, T* c, int64_t ldc,
                            bool first, Prefetch prefetch);
  std::array<RowTiles, 4> row_tiles;  // by_row, several tiles side by side: of 1, 2, 4 and `small_rows` rows
  bool copies_rows;                   // the last of these also copies its rows of a to `near`, if given
  int64_t depth;                      // k in one step of row_tiles
  std::array<OuterTile<T>, 4> outer;  // of `rows` rows, by the number of vectors of columns minus 1
  PackedTiles<T> tiles_across;        // the largest packed tile, several side by side: b is [tile][k][columns]
  bool prefetches_offsets;            // see Prefetch
  using PackTransposed = void (*)(T* to, const T* from, int64_t apart, int64_t used, int64_t width, int64_t k);
  PackTransposed pack_transposed;  // packs rows that are contiguous along k (see simd.h); may be null

  // The number of columns, rounded up to whole vectors.
  int64_t padded(int64_t columns) const { return (columns + lanes - 1) & -lanes; }  // lanes are a power of two
  double tile_cycles() const {
    return static_cast<double>(rows * (columns / lanes)) / 2;
  }  // of the largest tile, per k
  // The tile for m rows: its index in `tiles`, and the rows it computes.
  int form(int64_t m) const { return m == 1 ? 0 : m == 2 ? 1 : m <= 4 ? 2 : m <= middle_rows ? 3 : 4; }
  int64_t height(int64_t m) const { return m > middle_rows ? rows : m > 4 ? middle_rows : m > 2 ? 4 : m; }
  // The direct tile for the first of m rows: the rows it computes, and its index.
  int64_t direct_height(int64_t m) const { return m >= small_rows ? small_rows : m >= 4 ? 4 : m >= 2 ? 2 : 1; }
  int direct_form(int64_t height) const { return height == small_rows ? 3 : static_cast<int>(height / 2); }
};

// The kernels for this processor's instruction set, for float and double.
template <class T>
const GemmKernels<T>& gemm_kernels();

// Computes a tile at the edge of C completely in a local array, and copies the part that exists.
template <class T, class F>
inline void at_edge(T* c, int64_t ldc, int64_t rows, int64_t columns, bool first, F&& tile) {
  T whole[kMaxTileRows * kMaxTileColumns];
  if (!first)
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(whole + i * kMaxTileColumns, c + i * ldc, columns * sizeof(T));
  tile(whole, kMaxTileColumns);
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(c + i * ldc, whole + i * kMaxTileColumns, columns * sizeof(T));
}

}  // namespace sheaf::kernels
