// Equations with a triangular matrix, on steps.h: the triangle is cut in two, and the second half solved when what the
// first half gives has been subtracted.
#pragma once
#include "routines/linalg/steps.h"

namespace sheaf::routines {

// x [n, columns] becomes t^-1 x. Small triangles are solved for a strip of columns at a time, by all threads.
template <class M, class T>
void solve_triangle(const Triangle<T>& t, int64_t n, T* x, int64_t ldx, int64_t columns) {
  constexpr int64_t kNear = 32, kStrip = 64;
  if (n <= 0 || columns <= 0) return;
  if (n <= kNear && columns > kStrip) {
    M::for_ranges((columns + kStrip - 1) / kStrip, 1 + 1024 / (n * n), [&](int64_t begin, int64_t end) {
      for (int64_t j = begin * kStrip; j < std::min(columns, end * kStrip); j += kStrip)
        solve_triangle<M>(t, n, x + j, ldx, std::min(kStrip, columns - j));
    });
    return;
  }
  if (n <= kSmall) return M::solve_small(t, n, x, ldx, columns);
  const int64_t h = half(n), rest = n - h;
  T* low = x + h * ldx;
  if (t.upper) {
    solve_triangle<M>(t.from(h), rest, low, ldx, columns);
    subtract<M>(Product<T>{h, columns, rest, t.data + h * t.column, t.row, t.column, low, ldx, x, ldx});
    solve_triangle<M>(t, h, x, ldx, columns);
  } else {
    solve_triangle<M>(t, h, x, ldx, columns);
    subtract<M>(Product<T>{rest, columns, h, t.data + h * t.row, t.row, t.column, x, ldx, low, ldx});
    solve_triangle<M>(t.from(h), rest, low, ldx, columns);
  }
}

}  // namespace sheaf::routines
