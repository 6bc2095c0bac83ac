// Products of few rows with a large matrix, at the speed at which memory gives that matrix: it is read once, where it is, and narrow
// elements are widened on their way. C[M,N] = A[M,K] B[K,N] with the bits of loop/library.cpp's definition.
#pragma once
#include <cstdint>

#include "codegen/block/packing.h"
#include "loop/library.h"

namespace sheaf::codegen::block {

// Rows of B are contiguous (b.minor == 1). T is float for the narrow floats, else S.
template <class T, class S>
void thin_stream(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k);

// Columns of B are contiguous (b.k == 1). False where there are too few.
template <class S>
bool thin_turned(const Operand<S>& a, const Operand<S>& b, float* c, int64_t m, int64_t n, int64_t k);

// B in any order. T as above.
template <class T, class S>
void thin_packed(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k);

// The rows of A one after the other, in T, and `zeros` rows of zeros behind them: where they are if they are so, else in the scratch memory of this thread.
template <class T, class S>
Operand<T> contiguous_rows(const Operand<S>& a, int64_t m, int64_t k, int64_t zeros = 0) {
  if constexpr (std::is_same_v<T, S>)
    if (a.k == 1 && zeros == 0) return a;
  T* to = scratch<T>(0, (m + zeros) * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) to[i * k + l] = widen<T>(*a.at(i, l));
  std::fill_n(to + m * k, zeros * k, T(0));
  return {to, k, 1};
}

// One row in T for its chains (loop/library.h), each of which takes every fourth k: [chain][turn].
template <class T, class S>
Operand<T> row_by_chains(const Operand<S>& a, int64_t k) {
  constexpr int64_t kChains = loop::kRowChains;
  int64_t length = pieces(k, kChains);
  T* to = scratch<T>(0, kChains * length);
  for (int64_t l = 0; l < k; ++l) to[l % kChains * length + l / kChains] = widen<T>(*a.at(0, l));
  return {to, length, 1};
}

}  // namespace sheaf::codegen::block
