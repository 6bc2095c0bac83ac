// Kernels of products of few rows, for one instruction set: included once per set by few_rows.cpp (instruction_sets.h).

// Vectors of columns in a step: a cache line of B, or fewer, so that the sums of all rows stay in registers.
template <class T, class S, int kRows>
constexpr int kStreamVectors = std::max<int>(1, std::min<int>(64 / sizeof(S) / Simd<T>::kLanes, kStreamSums / kRows));

template <class T, int kRows, int kVectors, int kDepth, class S>
inline void stream_step(const T* a, int64_t lda, const S* b, int64_t ldb, T* sums, int64_t ld) {
  using V = Simd<T>;
  typename V::V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      acc[i][v] = V::load(sums + i * ld + v * V::kLanes);
  if constexpr (kDepth % V::kDepth == 0) {
#pragma GCC unroll 8
    for (int l = 0; l < kDepth; l += V::kDepth)
      V::template multiply_rows<kRows, kVectors>(acc, a + l, lda, b + l * ldb, ldb);
  } else {
#pragma GCC unroll 2
    for (int l = 0; l < kDepth; ++l)
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v)
          acc[i][v] = V::fma(V::splat(a[i * lda + l]), V::load(b + l * ldb + v * V::kLanes), acc[i][v]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      V::store(sums + i * ld + v * V::kLanes, acc[i][v]);
}

// sums[i][j] += a[i][l] b[l][j] for kDepth consecutive l and n columns. Prefetches the rows at `next`, or (kInOrder)
// the next lines of these rows.
template <class T, class S, int kRows, int kDepth, bool kInOrder = false>
inline void stream_rows(int64_t n, const T* a, int64_t lda, const S* b, int64_t ldb, const S* next, T* sums,
                        int64_t ld) {
  constexpr int kVectors = kStreamVectors<T, S, kRows>, kLanes = Simd<T>::kLanes, kSoonInOrder = 512 / sizeof(S);
  T x[kRows * kDepth];  // a local copy, which no store can alias: stays in registers
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i)
    std::memcpy(x + i * kDepth, a + i * lda, kDepth * sizeof(T));
  int64_t j = 0;
  // Prefetches the next rows to L2: if their stride is a multiple of 4 KiB, they would evict each other from L1.
  auto line = [&](int l, int64_t j) __attribute__((always_inline)) {
    __builtin_prefetch(next + l * ldb + j, 0, 2);
    __builtin_prefetch(b + l * ldb + j + kSoon<S>);
  };
  if constexpr (kRows == 1 && kDepth == kStreamDepth && sizeof(S) < sizeof(T) &&
                requires { Simd<T>::template add_narrow_rows<kDepth>(sums, n, x, b, ldb, line); })
    j = Simd<T>::template add_narrow_rows<kDepth>(sums, n, x, b, ldb, line);
  for (; j + kVectors * kLanes <= n; j += kVectors * kLanes) {
#pragma GCC unroll 8
    for (int l = 0; l < kDepth; ++l)
      if constexpr (kInOrder)
        __builtin_prefetch(b + l * ldb + j + kSoonInOrder);
      else
        line(l, j);
    stream_step<T, kRows, kVectors, kDepth>(x, kDepth, b + j, ldb, sums + j, ld);
  }
  for (; j + kLanes <= n; j += kLanes)
    stream_step<T, kRows, 1, kDepth>(x, kDepth, b + j, ldb, sums + j, ld);
  for (; j < n; ++j)
    for (int i = 0; i < kRows; ++i)
      for (int l = 0; l < kDepth; ++l)
        sums[i * ld + j] =
            scalar::apply<scalar::Op::Fma>(x[i * kDepth + l], widen<T>(b[l * ldb + j]), sums[i * ld + j]);
}

// One row of a with all of its chains at once, two k of each chain, so that rows of b are read in memory order. a is
// [chain][k of the chain], chains lda apart; the sums of the chains are ld apart. Prefetches the rows at `next`.
template <class T, class S>
inline void stream_rounds(int64_t n, const T* a, int64_t lda, const S* b, int64_t ldb, const S* next, T* sums,
                          int64_t ld) {
  using V = Simd<T>;
  constexpr int kChains = routines::kRowChains, kRows = kRounds * kChains, kLine = 64 / sizeof(S);
  T x[kChains][kRounds];
#pragma GCC unroll 4
  for (int c = 0; c < kChains; ++c)
    std::memcpy(x[c], a + c * lda, sizeof x[c]);
  int64_t j = 0;
  for (; j + V::kLanes <= n; j += V::kLanes) {
    if (j % kLine == 0)
#pragma GCC unroll 8
      for (int l = 0; l < kRows; ++l)
        __builtin_prefetch(next + l * ldb + j, 0, 2);
    typename V::V acc[kChains];
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c)
      acc[c] = V::load(sums + c * ld + j);
#pragma GCC unroll 8
    for (int l = 0; l < kRows; ++l)
      acc[l % kChains] = V::fma(V::splat(x[l % kChains][l / kChains]), V::load(b + l * ldb + j), acc[l % kChains]);
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c)
      V::store(sums + c * ld + j, acc[c]);
  }
  for (; j < n; ++j)
    for (int l = 0; l < kRows; ++l) {
      T& sum = sums[l % kChains * ld + j];
      sum = scalar::apply<scalar::Op::Fma>(x[l % kChains][l / kChains], widen<T>(b[l * ldb + j]), sum);
    }
}

// The same for more rows of a, tile by tile as in a packed product, since there are too few registers for the addresses
// of that many rows: a is [depth][kRows], and sums are consecutive tiles. kCopy: also copies the rows of b, for further
// groups of rows of a.
template <class T, class S, int kRows, bool kCopy>
inline void stream_tiles(int64_t tiles, int64_t depth, const T* a, const S* b, int64_t ldb, const S* next, T* sums,
                         T* copy, int64_t ld) {
  using V = Simd<T>;
  constexpr int kVectors = V::kTileVectors, kColumns = kVectors * V::kLanes;
  for (int64_t tile = 0; tile < tiles;
       ++tile, b += kColumns, next += kColumns, copy += kColumns, sums += kRows * kColumns) {
    typename V::V acc[kRows][kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v)
        acc[i][v] = V::load(sums + i * kColumns + v * V::kLanes);
    const T* x = a;
    const S *row = b, *ahead = next;
    T* to = copy;
    for (int64_t l = 0; l < depth; ++l, x += kRows, row += ldb, ahead += ldb, to += ld) {
      __builtin_prefetch(ahead, 0, 2);
      __builtin_prefetch(row + kSoon<S>);
      typename V::V y[kVectors];
      V::load_row(y, row);
      if (kCopy)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          V::store(to + v * V::kLanes, y[v]);
      V::template multiply<kRows, kVectors>(acc, x, y);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v)
        V::store(sums + i * kColumns + v * V::kLanes, acc[i][v]);
  }
}

// Copies a row as T; prefetches the one at `next`.
template <class T, class S>
inline void copy_row(int64_t n, const S* b, const S* next, T* to) {
  using V = Simd<T>;
  constexpr int kVectors = 64 / sizeof(S) / V::kLanes;
  int64_t j = 0;
  for (; j + kVectors * V::kLanes <= n; j += kVectors * V::kLanes) {
    __builtin_prefetch(next + j, 0, 2);
    __builtin_prefetch(b + j + kSoon<S>);
    typename V::V y[kVectors];
    V::load_row(y, b + j);
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      V::store(to + j + v * V::kLanes, y[v]);
  }
  for (; j < n; ++j)
    to[j] = widen<T>(b[j]);
}

// Adds the chains of one row, ld apart, to one sum (routines::sum_of_chains).
template <class T>
inline void add_chains(int64_t n, T* sums, int64_t ld) {
  using V = Simd<T>;
  static_assert(routines::kRowChains == 4);
  int64_t j = 0;
  for (; j + V::kLanes <= n; j += V::kLanes) {
    auto chain = [&](int64_t c) { return V::load(sums + c * ld + j); };
    V::store(sums + j, V::add(V::add(chain(0), chain(1)), V::add(chain(2), chain(3))));
  }
  for (; j < n; ++j)
    sums[j] = routines::sum_of_chains(sums + j, ld);
}

// The kernel for consecutive rows of b. On cores with 16-byte vectors few rows keep memory busy, and more rows would be
// several streams. Narrow elements need more instructions, so sums should be loaded less often (more rows at a time),
// unless more rows would map to few cache sets.
template <class T, class S, int kNarrowRows>
constexpr InOrder<T, S> in_order() {
  constexpr bool kWide = Simd<T>::kLanes * sizeof(T) > 16, kNarrow = sizeof(S) < sizeof(T);
  constexpr int kDepth = kWide ? kStreamDepth : kNarrow ? kNarrowRows : 2;
  return {stream_rows < T, S, 1, kDepth, !kWide && !kNarrow >, kDepth};
}

// With wide vectors there is time to load and store the sums of all chains.
template <class T, class S>
constexpr RowStream<T, S> kTurnStream = Simd<T>::kLanes * sizeof(T) > 16 && sizeof(S) == sizeof(T) ? stream_rounds<T, S>
                                                                                                   : nullptr;

// For five to eight rows: a tile of fourteen rows would be half empty.
template <class T>
constexpr int kMiddleRows = Simd<T>::kTileRows > 8 ? 8 : Simd<T>::kTileRows;

template <class T, class S>
constexpr Streams<T, S> kStreams{
    copy_row<T, S>,
    kTurnStream<T, S>,
    in_order<T, S, kStreamDepth>(),
    in_order<T, S, 4>(),
    {stream_rows<T, S, 1, kStreamDepth>, stream_rows<T, S, 2, kStreamDepth>, stream_rows<T, S, 4, kStreamDepth>},
    {stream_rows<T, S, 1, 1>, stream_rows<T, S, 2, 1>, stream_rows<T, S, 4, 1>},
    {stream_tiles<T, S, 1, false>, stream_tiles<T, S, 2, false>, stream_tiles<T, S, 4, false>,
     stream_tiles<T, S, kMiddleRows<T>, false>, stream_tiles<T, S, Simd<T>::kTileRows, false>},
    stream_tiles<T, S, Simd<T>::kTileRows, true>};

template <class T>
constexpr int64_t kTileColumns = Simd<T>::kTileVectors * Simd<T>::kLanes;

template <class T>
constexpr Kernels<T> kKernels{kMiddleRows<T>, Simd<T>::kTileRows, kTileColumns<T>, add_chains<T>,
                              by_element<T, Streams>([]<class S>() { return kStreams<T, S>; })};
