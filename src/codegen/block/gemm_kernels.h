// Register tiles of the contraction, for one instruction set: included once per set by contract.cpp (see
// instruction_sets.h). A tile is kRows x kVectors vectors; every element is one chain of fused
// multiply-adds in order of k that starts from zero, as loop/library.h says.

// Adds a tile to c, or begins it: the first block of k adds to zero (which turns -0 into +0, as the definition does).
template <class T, int kRows, int kVectors>
inline void add_tile(const typename Simd<T>::V (&acc)[kRows][kVectors], T* c, int64_t ldc, bool first) {
  using S = Simd<T>;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + i * ldc + v * S::kLanes;
      S::store(to, S::add(first ? S::zero() : S::load(to), acc[i][v]));
    }
}

// A tile over packed operands: a is [k][rows], b is [k][kVectors * kLanes]. Meanwhile it asks for what comes next. One step at a
// time: unrolled, GCC's order of loads and multiplications was 8 % slower.
template <class T, int kRows, int kVectors>
inline void packed_tile(int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool first, Ahead ahead) {
  using S = Simd<T>;
  constexpr int64_t kLine = 64 / sizeof(T);
  typename S::V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    __builtin_prefetch(c + i * ldc, 1);
    __builtin_prefetch(c + i * ldc + kVectors * S::kLanes - 1, 1);
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) acc[i][v] = S::zero();
  }
  for (int64_t l = 0; l < k; ++l, a += kRows, b += kVectors * S::kLanes) {
    __builtin_prefetch(a + 4 * kLine);
    __builtin_prefetch(ahead.at, 0, 2);
    ahead.at += (l & ahead.mask) == 0 ? ahead.step : 0;
    typename S::V y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) y[v] = S::load(b + v * S::kLanes);
    S::template multiply<kRows, kVectors>(acc, a, y);
  }
  add_tile<T, kRows, kVectors>(acc, c, ldc, first);
}

// The first tile of a panel of b, whose rows are contiguous: reads b where it is and leaves it packed for the tiles below.
template <class T, int kRows, int kVectors>
inline void packing_tile(int64_t k, const T* a, const T* b, int64_t sbk, T* packed, T* c, int64_t ldc, bool first) {
  using S = Simd<T>;
  constexpr int64_t kDistance = 8;  // rows
  typename S::V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) acc[i][v] = S::zero();
  for (int64_t l = 0; l < k; ++l, a += kRows, b += sbk, packed += kVectors * S::kLanes) {
    __builtin_prefetch(b + kDistance * sbk);
    typename S::V y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) S::store(packed + v * S::kLanes, y[v] = S::load(b + v * S::kLanes));
    S::template multiply<kRows, kVectors>(acc, a, y);
  }
  add_tile<T, kRows, kVectors>(acc, c, ldc, first);
}

// Tiles with a straight from memory, for products too small to pack it: rows of a contiguous (lda apart), or its columns (as if
// packed, but lda apart). Rows of b are ldb apart.
template <class T, int kRows, int kVectors>
inline void row_tile(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool first) {
  using S = Simd<T>;
  typename S::V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) acc[i][v] = S::zero();
  int64_t l = 0;
  for (; l + S::kDepth <= k; l += S::kDepth) S::template multiply_rows<kRows, kVectors>(acc, a + l, lda, b + l * ldb, ldb);
  for (; l < k; ++l)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      typename S::V y = S::load(b + l * ldb + v * S::kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) acc[i][v] = S::fma(S::splat(a[i * lda + l]), y, acc[i][v]);
    }
  add_tile<T, kRows, kVectors>(acc, c, ldc, first);
}

template <class T, int kRows, int kVectors>
inline void column_tile(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool first) {
  using S = Simd<T>;
  typename S::V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) acc[i][v] = S::zero();
  for (int64_t l = 0; l < k; ++l, a += lda, b += ldb) {
    typename S::V y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) y[v] = S::load(b + v * S::kLanes);
    S::template multiply<kRows, kVectors>(acc, a, y);
  }
  add_tile<T, kRows, kVectors>(acc, c, ldc, first);
}

// Several k of each row of a wait in registers where the instruction set multiplies by a lane, which leaves fewer for sums.
template <class T>
constexpr int kSmallRows = Simd<T>::kDepth > 1 ? 8 : Simd<T>::kTileRows;
template <class T>
constexpr int kSmallVectors = Simd<T>::kDepth > 1 ? 2 : Simd<T>::kTileVectors;

template <class T, int kRows>
constexpr TileRow<T> packed_tiles() {
  constexpr int kMost = Simd<T>::kTileVectors;
  return {packed_tile<T, kRows, 1>, packed_tile<T, kRows, std::min(2, kMost)>, packed_tile<T, kRows, std::min(3, kMost)>, packed_tile<T, kRows, std::min(4, kMost)>};
}

template <class T>
constexpr Kernels<T> kKernels{
    Simd<T>::kTileRows, Simd<T>::kTileVectors * Simd<T>::kLanes, Simd<T>::kLanes,
    {packed_tiles<T, 1>(), packed_tiles<T, 2>(), packed_tiles<T, 4>(), packed_tiles<T, Simd<T>::kTileRows>()},
    packing_tile<T, Simd<T>::kTileRows, Simd<T>::kTileVectors>,
    kSmallRows<T>, kSmallVectors<T>,
    {{{row_tile<T, 1, 1>, row_tile<T, 1, kSmallVectors<T>>}, {row_tile<T, 2, 1>, row_tile<T, 2, kSmallVectors<T>>}, {row_tile<T, 4, 1>, row_tile<T, 4, kSmallVectors<T>>},
      {row_tile<T, kSmallRows<T>, 1>, row_tile<T, kSmallRows<T>, kSmallVectors<T>>}}},
    {{{column_tile<T, 1, 1>, column_tile<T, 1, kSmallVectors<T>>}, {column_tile<T, 2, 1>, column_tile<T, 2, kSmallVectors<T>>}, {column_tile<T, 4, 1>, column_tile<T, 4, kSmallVectors<T>>},
      {column_tile<T, kSmallRows<T>, 1>, column_tile<T, kSmallRows<T>, kSmallVectors<T>>}}}};
