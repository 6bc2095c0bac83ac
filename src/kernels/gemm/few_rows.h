// GEMV and GEMM of few rows, bound by the memory bandwidth for B: it is read once, in place, and narrow elements are
// widened as they are loaded. C[M,N] = A[M,K] B[K,N] with the bits of routines/gemm/args.h.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/gemm/packing.h"
#include "routines/gemm/args.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {

// Rows of B are contiguous (b.minor == 1). T is float for the narrow floats, else S.
template <class T, class S>
void gemm_stream(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k);

// Columns of B are contiguous (b.k == 1). Returns false if there are too few.
template <class S>
bool gemm_few_rows_transposed(const MatrixView<S>& a, const MatrixView<S>& b, float* c, int64_t m, int64_t n,
                              int64_t k);

// B with any strides. T as above.
template <class T, class S>
void gemm_few_rows_packed(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k);

// The rows of A as T, each contiguous, followed by `zeros` rows of zeros: in place if possible, else copied to scratch
// memory of this thread.
template <class T, class S>
MatrixView<T> contiguous_rows(const MatrixView<S>& a, int64_t m, int64_t k, int64_t zeros = 0) {
  if constexpr (std::is_same_v<T, S>)
    if (a.k == 1 && zeros == 0) return a;
  T* to = scratch<T>(0, (m + zeros) * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      to[i * k + l] = widen<T>(*a.at(i, l));
  std::fill_n(to + m * k, zeros * k, T(0));
  return {to, k, 1};
}

// Divides a product of up to four rows by row-major B into tasks: a block of k (routines/gemm/args.h) by a strip of
// columns. Each task has separate sums; they are added in order at the end.
template <class T>
class BlockSums {
 public:
  // `sums`: the number of sums for each column in a task. Rows of C of up to `most` elements are not cut; longer ones
  // are cut into strips of about `strip` elements.
  BlockSums(int64_t m, int64_t n, int64_t k, int64_t sums, int64_t most = 16384, int64_t strip = kSumElements)
      : m_(m), n_(n), k_(k), sums_of_task_(sums), width_(round_up(pieces(n, cuts(most, strip)), kMultiple)) {}

  // Calls part(first column, columns, first k, last k, sums, apart, another) for each task; it adds to `sums`, which
  // are zero. The first m rows of `sums`, `apart` elements apart, are then added to C. `another`: the thread's next
  // task follows.
  template <class F>
  void run(T* c, F&& part) {
    cuts_ = pieces(n_, width_);
    // Sums of different tasks are at least a page apart: otherwise the hardware prefetcher would take lines that
    // another core writes.
    const int64_t apart = round_up(sums_of_task_ * width_, kPage) + kPage;
    T* all = scratch<T>(3, blocks_ * cuts_ * apart);
    runtime::parallel_for(
        blocks_ * cuts_,
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            int64_t j = task % cuts_ * width_, first = task / cuts_ * block_;
            std::fill_n(all + task * apart, sums_of_task_ * width_, T(0));
            part(j, std::min(width_, n_ - j), first, std::min(k_, first + block_), all + task * apart, width_,
                 task + 1 < end);
          }
        },
        std::max<int64_t>(1, kTaskFlops / (2 * m_ * width_ * block_ + 1)));
    add_up(c, all, apart);
  }

  // The first column and k of the task after the one that begins at column j and k l.
  std::pair<int64_t, int64_t> next(int64_t j, int64_t l) const {
    return j / width_ + 1 < cuts_ ? std::pair(j + width_, l) : std::pair<int64_t, int64_t>(0, l + block_);
  }
  bool whole_rows() const { return cuts_ == 1; }

 private:
  static constexpr int64_t kMultiple = 64, kPage = 4096 / sizeof(T),
                           kSumElements = 4096;  // kSumElements: of all rows of a strip, stay in L1

  // The number of strips of columns: the sums of a task stay in L1, and threads have equal work.
  int64_t cuts(int64_t whole, int64_t strip) const {
    int64_t least = n_ * m_ <= whole ? 1 : pieces(n_ * m_, strip), most = std::max(least, pieces(n_, kMultiple)),
            threads = runtime::num_threads();
    if (2 * m_ * n_ * k_ < 2 * kTaskFlops) return least;
    for (int64_t cuts = least; cuts < most; ++cuts)
      if (blocks_ * cuts % threads == 0 || blocks_ * cuts >= 4 * threads) return cuts;
    return most;
  }

  void add_up(T* c, const T* all, int64_t apart) const {
    runtime::parallel_for(
        m_ * cuts_,
        [&](int64_t begin, int64_t end) {
          for (int64_t at = begin; at < end; ++at) {
            int64_t row = at / cuts_, cut = at % cuts_, columns = std::min(width_, n_ - cut * width_);
            const T* from = all + cut * apart + row * width_;
            T* to = c + row * n_ + cut * width_;
            for (int64_t e = 0; e < columns; ++e)
              to[e] = T(0) + from[e];  // makes -0 +0
            for (int64_t block = 1; block < blocks_; ++block) {
              const T* more = from + block * cuts_ * apart;
              for (int64_t e = 0; e < columns; ++e)
                to[e] += more[e];
            }
          }
        },
        8);
  }

  int64_t m_, n_, k_, sums_of_task_, block_ = routines::contract_block(k_), blocks_ = pieces(k_, block_), width_,
                                     cuts_ = 1;
};

// Reorders one row as T by chains (routines/gemm/args.h), each of which takes every fourth k: [chain][k of the chain].
template <class T, class S>
MatrixView<T> row_by_chains(const MatrixView<S>& a, int64_t k) {
  constexpr int64_t kChains = routines::kRowChains;
  int64_t length = pieces(k, kChains);
  T* to = scratch<T>(0, kChains * length);
  for (int64_t l = 0; l < k; ++l)
    to[l % kChains * length + l / kChains] = widen<T>(*a.at(0, l));
  return {to, length, 1};
}

}  // namespace sheaf::kernels
