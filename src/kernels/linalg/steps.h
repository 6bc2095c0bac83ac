// The steps of routines/linalg/steps.h, fast: products by the GEMM's tiles, vectors, threads. Any thread may call them.
#pragma once
#include "kernels/tasks.h"
#include "routines/linalg/steps.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {

struct Fast {
  template <class T>
  static void add_product(const routines::Product<T>& p, T sign, routines::Part part = routines::Part::All);
  template <class T>
  static void dots(const T* x, int64_t ldx, int64_t rows, const T* y, int64_t n, T* out);
  template <class T>
  static void symmetric_rows(const T* a, int64_t ld, int64_t n, int64_t begin, int64_t end, const T* x, T* y);
  static routines::PoleSums pole_sums(const double* z, const double* poles, int64_t n, double x);
  static void turn_rows(double* rows, int64_t step, int64_t columns, const routines::Turn* turns, int64_t count);
  template <class T>
  static void divide(T* x, int64_t n, T by);
  template <class T>
  static void transpose(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to, int64_t to_step);
  template <class T>
  static void solve_small(const routines::Triangle<T>& t, int64_t n, T* x, int64_t ldx, int64_t columns);
  template <class T>
  static bool cholesky_small(T* a, int64_t ld, int64_t n);
  template <class T>
  static void lu_small(T* p, int64_t ld, int64_t m, int64_t from, int64_t to, int64_t width, int64_t* exchanges);
  template <class F>
  static void for_ranges(int64_t n, int64_t grain, F&& f) {
    if (n > 0) runtime::parallel_for(n, f, grain);
  }
  // Several small matrices at a time, or each by all threads.
  template <class F>
  static void for_matrices(int64_t batch, int64_t flops, F&& f) {
    const bool small = batch > 1 && flops <= 8 * kTaskFlops;
    auto some = [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        f(k);
    };
    if (small)
      runtime::parallel_for(batch, some, std::max<int64_t>(1, kTaskFlops / 8 / (flops + 1)));
    else
      some(0, batch);
  }
  template <class T>
  static T* scratch(int slot, int64_t n) {
    return kernels::scratch<T>(kLinalgSlot + slot, static_cast<size_t>(n));
  }
};

}  // namespace sheaf::kernels
