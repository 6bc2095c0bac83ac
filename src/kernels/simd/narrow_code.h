// Loops of narrow.cpp, for one instruction set: included once per set (see instruction_sets.h).

// The pointers do not alias, so that the loop is vectorized.
template <class S, class T>
void narrow_all(S* __restrict to, const T* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    to[i] = scalar::convert<S>(from[i]);
}

template <class S, class T>
void widen_all(int64_t rows, int64_t n, const S* __restrict from, int64_t from_row, T* __restrict to, int64_t to_row) {
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
    int64_t i = 0;
    if constexpr (requires { Simd<T>::load(from); })
      for (; i + Simd<T>::kLanes <= n; i += Simd<T>::kLanes)
        Simd<T>::store(to + i, Simd<T>::load(from + i));
    for (; i < n; ++i)
      to[i] = scalar::convert<T>(from[i]);
  }
}

template <class T>
constexpr Kernels<T> kKernels{narrow_all<BFloat16, T>, narrow_all<Float16, T>, widen_all<BFloat16, T>,
                              widen_all<Float16, T>};
