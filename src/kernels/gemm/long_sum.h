// Computes a long sum in parts that are added pairwise (routines/gemm/args.h). One object per product; not thread-safe.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/tasks.h"
#include "routines/gemm/args.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {

// Computes C[m, n], a sum over k. product(from, depth, to, alone) writes the sum over `depth` k from `from` on to `to`;
// `alone`: no other part runs at the same time (several small parts run concurrently). m * n totals should stay in a
// cache. Uses scratch slot 5.
template <class T, class F>
class LongSum {
 public:
  LongSum(T* c, int64_t m, int64_t n, int64_t k, bool alone, F product)
      : c_(c), k_(k), alone_(alone), product_(std::move(product)), size_(m * n) {}

  void run() {
    for (int64_t p = 0; p < parts_; p += together_) {
      int64_t count = std::min(together_, parts_ - p);
      if (together_ == 1)
        part(p, waiting(waiting_), alone_);
      else
        runtime::parallel_for(
            count,
            [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i)
                part(p + i, fresh_ + i * size_, false);
            },
            std::max<int64_t>(1, kTaskFlops / (2 * size_ * part_)));
      for (int64_t i = 0; i < count; ++i) {
        if (together_ > 1) std::copy_n(fresh_ + i * size_, size_, waiting(waiting_));
        ++waiting_;
        for (int64_t bits = p + i; bits & 1; bits >>= 1)
          fold();
      }
    }
    while (waiting_ > 1)
      fold();
  }

 private:
  void part(int64_t p, T* to, bool alone) { product_(p * part_, std::min(part_, k_ - p * part_), to, alone); }

  // The stack of pending totals; the oldest is in C.
  T* waiting(int64_t i) const { return i == 0 ? c_ : totals_ + (i - 1) * size_; }

  void fold() {
    T *to = waiting(waiting_ - 2), *from = waiting(waiting_ - 1);
    runtime::parallel_for(
        size_,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            to[i] += from[i];
        },
        1 << 16);
    --waiting_;
  }

  T* c_;
  int64_t k_;
  bool alone_;
  F product_;
  int64_t size_;
  const int64_t part_ = routines::contract_part(k_), parts_ = pieces(k_, part_);
  const int64_t together_ = 2 * size_ * part_ < 8 * kTaskFlops ? std::min<int64_t>(parts_, 64) : 1;
  const int64_t levels_ = std::bit_width(static_cast<uint64_t>(parts_));
  T *totals_ = scratch<T>(5, (levels_ + together_) * size_), *fresh_ = totals_ + levels_ * size_;
  int64_t waiting_ = 0;
};

}  // namespace sheaf::kernels
