// Loops of narrow.cpp, for one instruction set: included once per set (see instruction_sets.h).

// With pointers that share nothing, so that it is done in vectors.
template <class S, class T>
void narrow_all(S* __restrict to, const T* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    to[i] = scalar::convert<S>(from[i]);
}

template <class T>
void widen_all(T* to, const Float16* from, int64_t n) {
  int64_t i = 0;
  if constexpr (requires { Simd<T>::load(from); })
    for (; i + Simd<T>::kLanes <= n; i += Simd<T>::kLanes)
      Simd<T>::store(to + i, Simd<T>::load(from + i));
  for (; i < n; ++i)
    to[i] = scalar::convert<T>(from[i]);
}

template <class T>
constexpr Kernels<T> kKernels{narrow_all<BFloat16, T>, narrow_all<Float16, T>, widen_all<T>};
