// Peak measurements for one instruction set, included once per set by peak.cpp (see instruction_sets.h): enough
// independent multiply-adds and loads to saturate the core. Loops over accumulators are unrolled, so that these stay in
// registers.

template <class T>
T first_lane(typename Simd<T>::V v) {
  T out[Simd<T>::kLanes];
  Simd<T>::store(out, v);
  return out[0];
}

// `rounds` steps of a GEMM tile whose operands stay in registers.
template <class T>
T multiply_in_registers(int64_t rounds) {
  using S = Simd<T>;
  constexpr int kChains = S::kTileRows * S::kTileVectors;
  typename S::V acc[kChains], x = S::splat(T(1) / 3), y = S::splat(T(0.5));
#pragma GCC unroll 32
  for (int i = 0; i < kChains; ++i)
    acc[i] = S::splat(T(i));  // different values, or the compiler would merge the chains
  for (int64_t t = 0; t < rounds; ++t)
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i)
      acc[i] = S::fma(x, y, acc[i]);
#pragma GCC unroll 32
  for (int i = 1; i < kChains; ++i)
    acc[0] = S::add(acc[0], acc[i]);
  return first_lane<T>(acc[0]);
}

// The sum of n elements, read as kStreams distant streams: some cores are fastest with one, others with several.
template <class T, int kStreams>
T read_all(const T* p, int64_t n) {
  using S = Simd<T>;
  constexpr int kVectors = 4, kSoon = 512 / sizeof(T);
  typename S::V acc[kStreams * kVectors];
#pragma GCC unroll 32
  for (int v = 0; v < kStreams * kVectors; ++v)
    acc[v] = S::zero();
  int64_t part = n / kStreams;
  for (int64_t i = 0; i + kVectors * S::kLanes <= part; i += kVectors * S::kLanes) {
    if (kStreams == 1) __builtin_prefetch(p + i + kSoon);
#pragma GCC unroll 32
    for (int v = 0; v < kStreams * kVectors; ++v)
      acc[v] = S::add(acc[v], S::load(p + v / kVectors * part + i + v % kVectors * S::kLanes));
  }
#pragma GCC unroll 32
  for (int v = 1; v < kStreams * kVectors; ++v)
    acc[0] = S::add(acc[0], acc[v]);
  return first_lane<T>(acc[0]);
}

template <class T>
constexpr Kernels<T> kKernels{Simd<T>::kTileRows * Simd<T>::kTileVectors * Simd<T>::kLanes,
                              multiply_in_registers<T>,
                              {read_all<T, 1>, read_all<T, 4>}};
