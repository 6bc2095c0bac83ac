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

// How the chains of one row take turns (loop/library.h). With long runs consecutive k are of one chain; else every fourth.
template <class S>
struct RowChains {
  static constexpr int64_t kCount = loop::kRowChains;
  int64_t run, stride;  // stride: from one k of a chain to the next, mostly
  RowChains(int64_t n, int64_t k) : run(loop::contract_run(sizeof(S), n, k)), stride(run == 1 ? kCount : 1) {}

  static constexpr int64_t of(int64_t in_block, int64_t run) { return in_block / run % kCount; }
  int64_t of(int64_t in_block) const { return of(in_block, run); }
  // A line, or a run of each.
  static constexpr int64_t whole(int64_t run) { return std::max<int64_t>(64 / sizeof(S), kCount * run); }
  // Where an element is if a run of each is kept as [position][chain].
  static constexpr int64_t turned(int64_t in_block, int64_t run) { return in_block / (kCount * run) * kCount * run + in_block % run * kCount + of(in_block, run); }
  int64_t turned(int64_t in_block) const { return turned(in_block, run); }

  // x in T, with the elements of a chain next to each other within a run or, of runs of one, within a block: see at().
  template <class T>
  Operand<T> row(const Operand<S>& a, int64_t k) const {
    if (stride == 1) return contiguous_rows<T>(a, 1, k);
    int64_t length = pieces(k, kCount);
    T* to = scratch<T>(0, kCount * length);
    for (int64_t l = 0; l < k; ++l) to[l % kCount * length + l / kCount] = widen<T>(*a.at(0, l));
    return {to, length, 1};
  }
  template <class T>
  const T* at(const Operand<T>& row, int64_t l) const { return stride == 1 ? row.at(0, l) : row.at(l % kCount, l / kCount); }
};

}  // namespace sheaf::codegen::block
