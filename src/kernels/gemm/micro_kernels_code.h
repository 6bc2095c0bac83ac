// GEMM micro-kernels for one instruction set: included once per set by micro_kernels.cpp (instruction_sets.h). A tile
// is kRows x kVectors vectors; every element is one chain of fused multiply-adds in order of k that starts from zero,
// as routines/gemm/args.h says.

// Adds a tile to c; in the first block of k stores it, added to zero (which makes -0 +0, as in the definition).
template <class T, int kRows, int kVectors>
inline __attribute__((always_inline)) void add_tile(const typename Simd<T>::V (&acc)[kRows][kVectors], T* c,
                                                    int64_t ldc, bool first) {
  using S = Simd<T>;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + i * ldc + v * S::kLanes;
      S::store(to, S::add(first ? S::zero() : S::load(to), acc[i][v]));
    }
}

// True if Simd<T> has an explicit instruction schedule (multiply_steps) for tiles of kRows rows.
template <class T, int kRows>
constexpr bool kInSteps = kRows % 4 == 0 && requires(typename Simd<T>::V (&acc)[kRows][1], const T* a) {
  Simd<T>::multiply_steps(acc, 1, a, 1, [](int) { return Simd<T>::zero(); }, [] {});
};
// True if the largest tile on packed operands is written in assembly.
template <class T, int kRows, int kVectors>
constexpr bool kPackedWritten =
    kRows == Simd<T>::kTileRows && kVectors == Simd<T>::kTileVectors && requires { Simd<T>::packed_tile; };
template <class T>
constexpr int64_t kPrefetchDepth =
    kInSteps<T, Simd<T>::kTileRows> || kPackedWritten<T, Simd<T>::kTileRows, Simd<T>::kTileVectors> ? 2 : 1;

// acc[i][v] = the sum over k of a[l * lda + i] times the row that row(v) loads, vector by vector; calls each() for
// every k (with an explicit schedule, for every second k). Without an explicit schedule the loop is not unrolled: GCC's
// order of loads and multiplications was 8 % slower when unrolled. The first product is not added to zero: that affects
// only the sign of a zero, which adding to c removes.
template <class T, int kRows, int kVectors, class Row, class F>
inline __attribute__((always_inline)) void multiply_rows(typename Simd<T>::V (&acc)[kRows][kVectors], int64_t k,
                                                         const T* a, int64_t lda, bool begin, Row&& row, F&& each) {
  using S = Simd<T>;
  if constexpr (kInSteps<T, kRows>) {
    if (begin)
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v)
          acc[i][v] = S::zero();
    S::multiply_steps(acc, k, a, lda, row, each);
  } else {
    typename S::V y[kVectors];
    auto load = [&]() __attribute__((always_inline)) {
      each();
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v)
        y[v] = row(v);
    };
    int64_t l = 0;
    if (begin) {
      load();
      S::template begin<kRows, kVectors>(acc, a, y);
      a += lda, l = 1;
    }
    for (; l < k; ++l, a += lda) {
      load();
      S::template multiply<kRows, kVectors>(acc, a, y);
    }
  }
}

// True if the largest tile on any operands is written in assembly.
template <class T, int kRows, int kVectors>
constexpr bool kWritten =
    kRows == Simd<T>::kTileRows && kVectors == Simd<T>::kTileVectors && requires { Simd<T>::tile; };

template <class T, int kRows, int kVectors>
inline __attribute__((always_inline)) void load_tile(typename Simd<T>::V (&acc)[kRows][kVectors], const T* sums) {
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      acc[i][v] = Simd<T>::load(sums + (i * kVectors + v) * Simd<T>::kLanes);
}

// Prefetches a row of a tile in c. The tile to its left has touched the line of its first column.
template <class T, int kVectors>
inline void prefetch_row(const T* c) {
  for (int64_t last = kVectors * Simd<T>::kLanes - 1; last > 0; last -= 64 / static_cast<int64_t>(sizeof(T)))
    __builtin_prefetch(c + last, 1);
}

// A tile on packed a that prefetches its rows of c, spread over the k loop: misses to far caches delay accesses to near
// ones.
template <class T, int kRows, int kVectors, class Row, class F>
inline __attribute__((always_inline)) void multiply_prefetching(typename Simd<T>::V (&acc)[kRows][kVectors], int64_t k,
                                                                const T* a, const T* c, int64_t ldc, Row&& row,
                                                                F&& each) {
  constexpr int64_t kApart = 8;
  if (k <= kApart * kRows) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      prefetch_row<T, kVectors>(c + i * ldc);
    return multiply_rows<T, kRows, kVectors>(acc, k, a, kRows, true, row, each);
  }
  for (int i = 0; i < kRows; ++i, a += kApart * kRows) {
    prefetch_row<T, kVectors>(c + i * ldc);
    multiply_rows<T, kRows, kVectors>(acc, kApart, a, kRows, i == 0, row, each);
  }
  multiply_rows<T, kRows, kVectors>(acc, k - kApart * kRows, a, kRows, false, row, each);
}

// A tile on packed operands: a is [k][rows], b is [k][kVectors * kLanes]. Prefetches with the cursor `prefetch`, and c
// if `prefetch_c`.
template <class T, int kRows, int kVectors>
inline __attribute__((always_inline)) void packed_tile(int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool first,
                                                       bool prefetch_c, const Prefetch& prefetch) {
  using S = Simd<T>;
  constexpr int64_t kLine = 64 / sizeof(T);
  if constexpr (kPackedWritten<T, kRows, kVectors>) {
    S::packed_tile(k, a, b, c, ldc, !first, prefetch.at, prefetch.step, prefetch.period);
  } else if constexpr (kWritten<T, kRows, kVectors>) {
    if (prefetch_c)
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
        prefetch_row<T, kVectors>(c + i * ldc);
    if (prefetch.offsets)
      S::prefetching_tile(k, a, b, c, ldc, !first, prefetch.at, prefetch.offsets, S::kNear);
    else
      S::tile(k, a, kRows, b, kVectors * S::kLanes, nullptr, c, ldc, !first, prefetch.at, prefetch.step,
              prefetch.period, S::kNear);
  } else {
    typename S::V acc[kRows][kVectors];
    const T* soon = a + 4 * kLine;
    const std::byte* line = prefetch.at;
    int64_t step = prefetch.step;
    auto row = [&](int v) __attribute__((always_inline)) {
      typename S::V y = S::load(b + v * S::kLanes);
      if (v + 1 == kVectors) b += kVectors * S::kLanes;
      return y;
    };
    bool skip = false;
    auto each = [&]() __attribute__((always_inline)) {
      __builtin_prefetch(soon);
      soon += (kInSteps<T, kRows> ? 2 : 1) * kRows;
      if (kPrefetchDepth<T> > 1 && !kInSteps<T, kRows> && std::exchange(skip, !skip)) return;
      __builtin_prefetch(line, 0, 2);
      line += step;
      step = prefetch.period - step;
    };
    if (prefetch_c)
      multiply_prefetching<T, kRows, kVectors>(acc, k, a, c, ldc, row, each);
    else
      multiply_rows<T, kRows, kVectors>(acc, k, a, kRows, true, row, each);
    add_tile<T, kRows, kVectors>(acc, c, ldc, first);
  }
}

// `tiles` tiles, one below the other.
template <class T, int kRows, int kVectors>
inline void packed_tiles(int64_t tiles, int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool first,
                         Prefetch prefetch) {
  const bool prefetch_c = runtime::host_target().prefetches_early || !first;
  for (; tiles > 0; --tiles, a += k * kRows, c += kRows * ldc) {
    packed_tile<T, kRows, kVectors>(k, a, b, c, ldc, first, prefetch_c, prefetch);
    prefetch.pass(1);
  }
}

// `tiles` tiles side by side.
template <class T, int kRows, int kVectors>
inline void packed_tiles_across(int64_t tiles, int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool first,
                                Prefetch prefetch) {
  constexpr int64_t kWidth = kVectors * Simd<T>::kLanes;
  for (; tiles > 0; --tiles, b += k * kWidth, c += kWidth) {
    packed_tile<T, kRows, kVectors>(k, a, b, c, ldc, first, false, prefetch);
    prefetch.pass(1);
  }
}

// The first tile of a panel of b, whose rows are contiguous: reads b in place and packs it for the tiles below.
template <class T, int kRows, int kVectors>
inline void packing_tile(int64_t k, const T* a, const T* b, int64_t sbk, T* packed, T* c, int64_t ldc, bool first) {
  using S = Simd<T>;
  const int64_t distance = runtime::host_target().prefetches_early ? 8 : 4;  // rows
  if constexpr (kWritten<T, kRows, kVectors>) {
    S::packing_tile(k, a, b, sbk, packed, c, ldc, !first, distance * sbk + kVectors * S::kLanes - 1);
  } else {
    // The line of a row's first column is in L1, since the previous panel has read it, unless the row stride is a
    // multiple of 4 KiB: then rows evict each other.
    bool gone = sbk * sizeof(T) % 4096 == 0;
    typename S::V acc[kRows][kVectors];
    auto row = [&](int v) __attribute__((always_inline)) {
      typename S::V y = S::load(b + v * S::kLanes);
      S::store(packed + v * S::kLanes, y);
      if (v + 1 == kVectors) {
        if (gone) __builtin_prefetch(b + distance * sbk);
        for (int64_t last = kVectors * S::kLanes - 1; last > 0; last -= 64 / sizeof(T))
          __builtin_prefetch(b + distance * sbk + last);
        b += sbk, packed += kVectors * S::kLanes;
      }
      return y;
    };
    multiply_rows<T, kRows, kVectors>(acc, k, a, kRows, true, row, [] {});
    add_tile<T, kRows, kVectors>(acc, c, ldc, first);
  }
}

// If the instruction set multiplies by a lane (kDepth > 1), several k of each row of a stay in registers, which leaves
// fewer for sums.
template <class T>
constexpr int kSmallRows = Simd<T>::kDepth > 1 ? 8 : Simd<T>::kTileRows;
template <class T>
constexpr int kSmallVectors = Simd<T>::kDepth > 1 ? 2 : Simd<T>::kTileVectors;

// Tiles that read a in place, for products too small to pack it: row_tile for a with contiguous rows, lda apart;
// column_tile for contiguous columns (like a packed a, but lda apart). Rows of b are ldb apart.
template <class T, int kRows, int kVectors, class F>
inline void add_row_tile(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool first,
                         F&& each_step) {
  using S = Simd<T>;
  typename S::V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      acc[i][v] = S::zero();
  int64_t l = 0;
  if constexpr (requires { S::multiply_row_steps(acc, k, a, lda, b, ldb, each_step); }) {
    S::multiply_row_steps(acc, k / S::kDepth, a, lda, b, ldb, each_step);
    l = k / S::kDepth * S::kDepth;
  } else {
    for (; l + S::kDepth <= k; l += S::kDepth) {
      each_step();
      S::template multiply_rows<kRows, kVectors>(acc, a + l, lda, b + l * ldb, ldb);
    }
  }
  for (; l < k; ++l)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      typename S::V y = S::load(b + l * ldb + v * S::kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
        acc[i][v] = S::fma(S::splat(a[i * lda + l]), y, acc[i][v]);
    }
  add_tile<T, kRows, kVectors>(acc, c, ldc, first);
}

// True if the largest row tile is written in assembly.
template <class T, int kRows, int kVectors>
constexpr bool kRowsWritten = kRows == kSmallRows<T> && kVectors == kSmallVectors<T> && requires { Simd<T>::row_tile; };

// True if it can also copy its rows of a.
template <class T, int kRows, int kVectors>
constexpr bool kRowsCopied = kRowsWritten<T, kRows, kVectors> && requires { Simd<T>::leaving_row_tile; };
// k between two prefetches of a row tile.
template <class T>
constexpr int64_t kRowDepth =
    kRowsWritten<T, kSmallRows<T>, kSmallVectors<T>> && Simd<T>::kDepth == 1 ? 2 : Simd<T>::kDepth;

template <class T, int kRows, int kVectors>
inline void row_tile(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool first) {
  if constexpr (kRowsWritten<T, kRows, kVectors>)
    Simd<T>::row_tile(k, a, lda, b, ldb, c, ldc, !first, reinterpret_cast<const std::byte*>(a), 0, 0);
  else
    add_row_tile<T, kRows, kVectors>(k, a, lda, b, ldb, c, ldc, first, [] {});
}

// `tiles` row tiles side by side, with b as [tile][k][kVectors * kLanes], for rows of a that come from memory:
// prefetches the next rows.
template <class T, int kRows, int kVectors>
inline void row_tiles(int64_t tiles, int64_t k, const T* a, int64_t lda, T* near, const T* b, T* c, int64_t ldc,
                      bool first, Prefetch prefetch) {
  using S = Simd<T>;
  constexpr int64_t kWidth = kVectors * S::kLanes;
  if (tiles == 1) near = nullptr;  // no other tile would read the copy
  for (int64_t tile = 0; tile < tiles; ++tile, b += k * kWidth, c += kWidth) {
    const std::byte* line = prefetch.at;
    int64_t step = prefetch.step;
    if constexpr (kRowsCopied<T, kRows, kVectors>) {
      if (!near)
        S::row_tile(k, a, lda, b, kWidth, c, ldc, !first, line, step, prefetch.period);
      else if (tile == 0)
        S::leaving_row_tile(k, a, lda, near, b, kWidth, c, ldc, !first, line, step, prefetch.period);
      else
        S::taking_row_tile(k, near, b, kWidth, c, ldc, !first, line, step, prefetch.period);
    } else if constexpr (kRowsWritten<T, kRows, kVectors>) {
      S::row_tile(k, a, lda, b, kWidth, c, ldc, !first, line, step, prefetch.period);
    } else {
      add_row_tile<T, kRows, kVectors>(k, a, lda, b, kWidth, c, ldc, first, [&] {
        __builtin_prefetch(line);
        line += step;
        step = prefetch.period - step;
      });
    }
    prefetch.pass(1);
  }
}

template <class T, int kRows, int kVectors>
inline void column_tile(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool first) {
  using S = Simd<T>;
  typename S::V acc[kRows][kVectors];
  auto row = [&](int v) __attribute__((always_inline)) {
    typename S::V y = S::load(b + v * S::kLanes);
    if (v + 1 == kVectors) b += ldb;
    return y;
  };
  multiply_rows<T, kRows, kVectors>(acc, k, a, lda, true, row, [] {});
  add_tile<T, kRows, kVectors>(acc, c, ldc, first);
}

// Adds k more outer products to a tile; rows of a and b are lda and ldb apart. Starts from zero or from the carried
// sums; stores the sums to be carried on, or adds them to c. Prefetches `line`.
template <class T, int kRows, int kVectors>
inline void outer_tile(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, const Carried<T>& to) {
  using S = Simd<T>;
  typename S::V acc[kRows][kVectors];
  const std::byte* line = to.line;
  auto row = [&](int v) __attribute__((always_inline)) {
    typename S::V y = S::load(b + v * S::kLanes);
    if (v + 1 == kVectors) {
      b += ldb;
      __builtin_prefetch(line, 0, 2);
      line += to.step;
    }
    return y;
  };
  if constexpr (kWritten<T, kRows, kVectors>) {
    return S::tile(k, a, lda, b, ldb, to.begin ? nullptr : to.sums, to.c ? to.c : to.sums,
                   to.c ? to.ldc : kVectors * S::kLanes, to.c && !to.first, line, to.step, 2 * to.step, 0);
  }
  if (!to.begin) load_tile<T>(acc, to.sums);
  multiply_rows<T, kRows, kVectors>(acc, k, a, lda, to.begin, row, [] {});
  if (to.c) return add_tile<T, kRows, kVectors>(acc, to.c, to.ldc, to.first);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      S::store(to.sums + (i * kVectors + v) * S::kLanes, acc[i][v]);
}

template <class T, int kRows>
constexpr TileRow<T> tiles_of() {
  constexpr int kMost = Simd<T>::kTileVectors;
  return {packed_tiles<T, kRows, 1>, packed_tiles<T, kRows, std::min(2, kMost)>,
          packed_tiles<T, kRows, std::min(3, kMost)>, packed_tiles<T, kRows, std::min(4, kMost)>};
}

// The rows of the middle tile: if the largest tile has many rows, a tile of about half its height for the remainder.
template <class T>
constexpr int kMiddleRows = std::min(8, Simd<T>::kTileRows);

template <class T>
constexpr typename Kernels<T>::PackTransposed pack_transposed_of() {
  if constexpr (requires { Simd<T>::pack_transposed; })
    return Simd<T>::pack_transposed;
  else
    return nullptr;
}

template <class T>
constexpr Kernels<T> kKernels{
    Simd<T>::kTileRows,
    kMiddleRows<T>,
    Simd<T>::kTileVectors * Simd<T>::kLanes,
    Simd<T>::kLanes,
    kPrefetchDepth<T>,
    {tiles_of<T, 1>(), tiles_of<T, 2>(), tiles_of<T, 4>(), tiles_of<T, kMiddleRows<T>>(),
     tiles_of<T, Simd<T>::kTileRows>()},
    {packing_tile<T, Simd<T>::kTileRows, std::min(2, Simd<T>::kTileVectors)>,
     packing_tile<T, Simd<T>::kTileRows, Simd<T>::kTileVectors>},
    kSmallRows<T>,
    kSmallVectors<T>,
    {{{row_tile<T, 1, 1>, row_tile<T, 1, kSmallVectors<T>>},
      {row_tile<T, 2, 1>, row_tile<T, 2, kSmallVectors<T>>},
      {row_tile<T, 4, 1>, row_tile<T, 4, kSmallVectors<T>>},
      {row_tile<T, kSmallRows<T>, 1>, row_tile<T, kSmallRows<T>, kSmallVectors<T>>}}},
    {{{column_tile<T, 1, 1>, column_tile<T, 1, kSmallVectors<T>>},
      {column_tile<T, 2, 1>, column_tile<T, 2, kSmallVectors<T>>},
      {column_tile<T, 4, 1>, column_tile<T, 4, kSmallVectors<T>>},
      {column_tile<T, kSmallRows<T>, 1>, column_tile<T, kSmallRows<T>, kSmallVectors<T>>}}},
    {row_tiles<T, 1, kSmallVectors<T>>, row_tiles<T, 2, kSmallVectors<T>>, row_tiles<T, 4, kSmallVectors<T>>,
     row_tiles<T, kSmallRows<T>, kSmallVectors<T>>},
    kRowsCopied<T, kSmallRows<T>, kSmallVectors<T>>,
    kRowDepth<T>,
    {outer_tile<T, Simd<T>::kTileRows, 1>, outer_tile<T, Simd<T>::kTileRows, std::min(2, Simd<T>::kTileVectors)>,
     outer_tile<T, Simd<T>::kTileRows, std::min(3, Simd<T>::kTileVectors)>,
     outer_tile<T, Simd<T>::kTileRows, std::min(4, Simd<T>::kTileVectors)>},
    packed_tiles_across<T, Simd<T>::kTileRows, Simd<T>::kTileVectors>,
    kWritten<T, Simd<T>::kTileRows, Simd<T>::kTileVectors>,
    pack_transposed_of<T>()};
