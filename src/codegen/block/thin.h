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

// The rows of A one after the other, in T: where they are if they are so, else in the scratch memory of this thread.
template <class T, class S>
Operand<T> contiguous_rows(const Operand<S>& a, int64_t m, int64_t k) {
  if constexpr (std::is_same_v<T, S>)
    if (a.k == 1) return a;
  T* to = scratch<T>(0, m * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) to[i * k + l] = widen<T>(*a.at(i, l));
  return {to, k, 1};
}

// How the chains of one row take turns (loop/library.h). With long runs consecutive k are of one chain; else every fourth.
template <class S>
struct RowChains {
  static constexpr int64_t kCount = loop::kRowChains, kRun = loop::contract_run(sizeof(S)), kStride = kRun == 1 ? kCount : 1;
  static int64_t of(int64_t in_block) { return in_block / kRun % kCount; }

  // x in T, with the elements of a chain next to each other within a run of kRun or of a block: see at().
  template <class T>
  static Operand<T> row(const Operand<S>& a, int64_t k) {
    if constexpr (kStride == 1) return contiguous_rows<T>(a, 1, k);
    int64_t length = pieces(k, kCount);
    T* to = scratch<T>(0, kCount * length);
    for (int64_t l = 0; l < k; ++l) to[l % kCount * length + l / kCount] = widen<T>(*a.at(0, l));
    return {to, length, 1};
  }
  template <class T>
  static const T* at(const Operand<T>& row, int64_t l) { return kStride == 1 ? row.at(0, l) : row.at(l % kCount, l / kCount); }
};

// Calls f(row, form) for groups of 2^form rows, `form` at most `most`.
template <class F>
void row_groups(int64_t m, int most, F&& f) {
  int64_t i = 0;
  for (int form = most; form >= 0; --form)
    for (; m - i >= (1 << form); i += 1 << form) f(i, form);
}

}  // namespace sheaf::codegen::block
