// Kernels of products of few rows, for one instruction set: included once per set by thin.cpp (see instruction_sets.h).

// Vectors that a step takes: a cache line of B, or as many as leave room for the sums of all rows in registers.
template <class T, class S, int kRows>
constexpr int kStreamVectors = std::max<int>(1, std::min<int>(64 / sizeof(S) / Simd<T>::kLanes, kStreamSums / kRows));

template <class T, int kRows, int kVectors, int kDepth, class S>
inline void stream_step(const T* a, int64_t lda, const S* b, int64_t ldb, T* sums, int64_t ld) {
  using V = Simd<T>;
  typename V::V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) acc[i][v] = V::load(sums + i * ld + v * V::kLanes);
  if constexpr (kDepth % V::kDepth == 0) {
#pragma GCC unroll 8
    for (int l = 0; l < kDepth; l += V::kDepth) V::template multiply_rows<kRows, kVectors>(acc, a + l, lda, b + l * ldb, ldb);
  } else {
    static_assert(kDepth == 1);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[i][v] = V::fma(V::splat(a[i * lda]), V::load(b + v * V::kLanes), acc[i][v]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) V::store(sums + i * ld + v * V::kLanes, acc[i][v]);
}

// sums[i][j] += a[i][l] b[l][j] for kDepth consecutive l and n columns, while the rows at `next` are asked for.
template <class T, class S, int kRows, int kDepth>
inline void stream_rows(int64_t n, const T* a, int64_t lda, const S* b, int64_t ldb, const S* next, T* sums, int64_t ld) {
  constexpr int kVectors = kStreamVectors<T, S, kRows>, kLanes = Simd<T>::kLanes;
  int64_t j = 0;
  for (; j + kVectors * kLanes <= n; j += kVectors * kLanes) {
    // Into the second-level cache: there are rows a multiple of 4 KiB apart, which would evict each other in the first.
#pragma GCC unroll 8
    for (int l = 0; l < kDepth; ++l) __builtin_prefetch(next + l * ldb + j, 0, 2);
    stream_step<T, kRows, kVectors, kDepth>(a, lda, b + j, ldb, sums + j, ld);
  }
  for (; j + kLanes <= n; j += kLanes) stream_step<T, kRows, 1, kDepth>(a, lda, b + j, ldb, sums + j, ld);
  for (; j < n; ++j)
    for (int i = 0; i < kRows; ++i)
      for (int l = 0; l < kDepth; ++l)
        sums[i * ld + j] = loop::scalar::apply<loop::Op::Fma>(a[i * lda + l], widen<T>(b[l * ldb + j]), sums[i * ld + j]);
}

template <class T, class S>
constexpr Streams<T, S> kStreams{
    {stream_rows<T, S, 1, kStreamDepth>, stream_rows<T, S, 2, kStreamDepth>, stream_rows<T, S, 4, kStreamDepth>, stream_rows<T, S, 8, kStreamDepth>},
    {stream_rows<T, S, 1, 1>, stream_rows<T, S, 2, 1>, stream_rows<T, S, 4, 1>, stream_rows<T, S, 8, 1>}};

template <class T>
constexpr auto kKernels = [] {
  if constexpr (std::is_same_v<T, float>) return Kernels<T>{kStreams<T, float>, kStreams<T, BFloat16>, kStreams<T, Float16>};
  else return Kernels<T>{kStreams<T, T>};
}();
