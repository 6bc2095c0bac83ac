// One row times columns that are adjacent in memory, for one instruction set: included once per set by views.cpp
// (instruction_sets.h).

// c[j] = the product of x, in four chains, with the rows that begin at from + rows[l], for j < n; n >= kLanes. x and
// rows hold the terms of each chain consecutively, chain i from first[i] on. The last vector overlaps the previous one
// if n is not a multiple of the lanes.
template <class T>
void row_of_chains(int64_t n, const T* x, const int64_t* first, const T* from, const int64_t* rows, T* c) {
  using V = Simd<T>;
  constexpr int kVectors = 4;
  auto step = [&]<int kSome>(std::integral_constant<int, kSome>, int64_t j) __attribute__((always_inline)) {
    typename V::V total[routines::kRowChains][kSome];
#pragma GCC unroll 4
    for (int chain = 0; chain < routines::kRowChains; ++chain) {
#pragma GCC unroll 4
      for (int v = 0; v < kSome; ++v)
        total[chain][v] = V::zero();
      for (int64_t l = first[chain]; l < first[chain + 1]; ++l) {
        const typename V::V a = V::splat(x[l]);
#pragma GCC unroll 4
        for (int v = 0; v < kSome; ++v)
          total[chain][v] = V::fma(a, V::load(from + rows[l] + j + v * V::kLanes), total[chain][v]);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kSome; ++v)
      V::store(c + j + v * V::kLanes,
               V::add(V::zero(), V::add(V::add(total[0][v], total[1][v]), V::add(total[2][v], total[3][v]))));
  };
  static_assert(routines::kRowChains == 4);
  int64_t j = 0;
  for (; j + kVectors * V::kLanes <= n; j += kVectors * V::kLanes)
    step(std::integral_constant<int, kVectors>{}, j);
  for (; j + V::kLanes <= n; j += V::kLanes)
    step(std::integral_constant<int, 1>{}, j);
  if (j < n) step(std::integral_constant<int, 1>{}, n - V::kLanes);
}

template <class T>
constexpr Kernels<T> kKernels{Simd<T>::kLanes, row_of_chains<T>};
