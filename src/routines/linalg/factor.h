// LU with row exchanges, Cholesky's factorization, and what is made with them, on steps.h. Both cut a matrix in two
// (columns, or rows and columns) and factor the second half when the first one's part has been subtracted.
#pragma once
#include <cmath>
#include <limits>
#include <numeric>

#include "routines/linalg/args.h"
#include "routines/linalg/matrix.h"
#include "routines/linalg/triangle.h"
#include "scalar/math/elementary.h"

namespace sheaf::routines {

// The upper triangle of a becomes u with u^T u = a. False: a is not positive definite.
template <class M, class T>
bool cholesky_upper(T* a, int64_t ld, int64_t n) {
  if (n <= kSmall) return M::cholesky_small(a, ld, n);
  const int64_t h = half(n), rest = n - h;
  T *right = a + h, *low = a + h * ld + h;
  if (!cholesky_upper<M>(a, ld, h)) return false;
  solve_triangle<M>(Triangle<T>{a, 1, ld, false, false}, h, right, ld, rest);
  subtract<M>(Product<T>{rest, rest, h, right, 1, ld, right, ld, low, ld}, Part::Upper);
  return cholesky_upper<M>(low, ld, rest);
}

// Exchanges row i with row i + exchanges[i], i = 0 … n - 1, in this order.
template <class M, class T>
void exchange_rows(T* a, int64_t ld, int64_t columns, const int64_t* exchanges, int64_t n) {
  constexpr int64_t kStrip = 64;
  M::for_ranges((columns + kStrip - 1) / kStrip, 1 + 512 / (n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin * kStrip; j < std::min(columns, end * kStrip); j += kStrip)
      for (int64_t i = 0; i < n; ++i)
        if (T* row = a + i * ld + j; exchanges[i] != 0)
          std::swap_ranges(row, row + std::min(kStrip, columns - j), row + exchanges[i] * ld);
  });
}

// Columns [from, to) of a matrix of m rows whose columns are the rows of p, `width` of them; those before are done.
template <class M, class T>
void lu_panel(T* p, int64_t ld, int64_t m, int64_t from, int64_t to, int64_t width, int64_t* exchanges) {
  T* first = p + from * ld;
  if (to - from <= kSmallPanel) return M::lu_small(p, ld, m, from, to, width, exchanges);
  const int64_t mid = from + half(to - from);
  T* rest = p + mid * ld;
  lu_panel<M>(p, ld, m, from, mid, width, exchanges);
  for (int64_t k = from; k < mid - 1; ++k)
    subtract<M>(Product<T>{to - mid, mid - k - 1, 1, rest + k, ld, 1, p + k * ld + k + 1, ld, rest + k + 1, ld});
  subtract<M>(Product<T>{to - mid, m - mid, mid - from, rest + from, ld, 1, first + mid, ld, rest + mid, ld});
  lu_panel<M>(p, ld, m, mid, to, width, exchanges);
}

// a [m, n], m >= n, becomes l below the diagonal, of which it has ones, and u; exchange_rows makes its rows those of
// l u.
template <class M, class T>
void lu_tall(T* a, int64_t ld, int64_t m, int64_t n, int64_t* exchanges) {
  constexpr int64_t kPanel = 32;
  if (n <= 0) return;
  if (n <= kPanel) {
    const int64_t step = row_step<T>(m);
    T* p = M::template scratch<T>(0, n * step);
    M::transpose(a, ld, m, n, p, step);
    lu_panel<M>(p, step, m, 0, n, n, exchanges);
    M::transpose(p, step, n, m, a, ld);
    return;
  }
  const int64_t h = half(n), rest = n - h;
  T *right = a + h, *low = a + h * ld;
  lu_tall<M>(a, ld, m, h, exchanges);
  exchange_rows<M>(right, ld, rest, exchanges, h);
  solve_triangle<M>(Triangle<T>{a, ld, 1, false, true}, h, right, ld, rest);
  subtract<M>(Product<T>{m - h, rest, h, low, ld, 1, right, ld, low + h, ld});
  lu_tall<M>(low + h, ld, m - h, rest, exchanges + h);
  exchange_rows<M>(low, ld, h, exchanges + h, rest);
}

// The same of a matrix of any shape; exchanges of the smaller of m and n.
template <class M, class T>
void lu_in_place(T* a, int64_t ld, int64_t m, int64_t n, int64_t* exchanges) {
  const int64_t k = std::min(m, n);
  lu_tall<M>(a, ld, m, k, exchanges);
  exchange_rows<M>(a + k, ld, n - k, exchanges, k);
  solve_triangle<M>(Triangle<T>{a, ld, 1, false, true}, k, a + k, ld, n - k);
}

// A copy of a square matrix as LU, in scratch memory.
template <class T>
struct Factored {
  T* lu;
  int64_t ld;
  int64_t* exchanges;
};
template <class M, class T>
Factored<T> factored(const T* a, int64_t n) {
  const int64_t ld = row_step<T>(n);
  Factored<T> f{M::template scratch<T>(1, n * ld), ld, M::template scratch<int64_t>(0, n)};
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(a + i * n, n, f.lu + i * ld);
  lu_in_place<M>(f.lu, ld, n, n, f.exchanges);
  return f;
}

template <class M, class T>
void solve_in(const RoutineCall& c, const SolveArgs<>& args) {
  const int64_t n = args.n, columns = args.columns;
  M::for_matrices(args.batch, n * n * (n + 2 * columns), [&](int64_t k) {
    const T *a = matrix<const T>(c, 0, k, n * n), *b = matrix<const T>(c, 1, k, n * columns);
    T* x = matrix<T>(c, 2, k, n * columns);
    const Factored<T> f = factored<M>(a, n);
    std::copy_n(b, n * columns, x);
    exchange_rows<M>(x, columns, columns, f.exchanges, n);
    solve_triangle<M>(Triangle<T>{f.lu, f.ld, 1, false, true}, n, x, columns, columns);
    solve_triangle<M>(Triangle<T>{f.lu, f.ld, 1, true, false}, n, x, columns, columns);
  });
}

template <class M, class T>
void det_in(const RoutineCall& c, const DetArgs<>& args) {
  const int64_t n = args.n;
  M::for_matrices(args.batch, n * n * n, [&](int64_t k) {
    const Factored<T> f = factored<M>(matrix<const T>(c, 0, k, n * n), n);
    double d = 1;
    for (int64_t i = 0; i < n; ++i)
      d *= f.exchanges[i] == 0 ? f.lu[i * f.ld + i] : -f.lu[i * f.ld + i];
    *matrix<T>(c, 1, k, 1) = static_cast<T>(d);
  });
}

template <class M, class T>
void slogdet_in(const RoutineCall& c, const SlogdetArgs<>& args) {
  const int64_t n = args.n;
  M::for_matrices(args.batch, n * n * n, [&](int64_t k) {
    const Factored<T> f = factored<M>(matrix<const T>(c, 0, k, n * n), n);
    // The product as a fraction and an exponent; one logarithm at the end.
    double part = 1;
    int64_t exponent = 0;
    for (int64_t i = 0; i < n; ++i) {
      int here = 0;
      part = std::frexp(f.exchanges[i] == 0 ? part * f.lu[i * f.ld + i] : -part * f.lu[i * f.ld + i], &here);
      exponent += here;
    }
    const double size = std::fabs(part);
    *matrix<T>(c, 1, k, 1) = static_cast<T>(part > 0 ? 1 : part < 0 ? -1 : part);
    *matrix<T>(c, 2, k, 1) = static_cast<T>(size == 0 ? -std::numeric_limits<double>::infinity()
                                                      : scalar::elementary<scalar::Op::Log>(size) +
                                                            double(exponent) * 0.69314718055994530942);
  });
}

template <class M, class T>
void lu_in(const RoutineCall& c, const LuArgs<>& args) {
  const int64_t m = args.m, n = args.n, least = std::min(m, n);
  M::for_matrices(args.batch, m * n * least, [&](int64_t k) {
    T* f = matrix<T>(c, 1, k, m * n);
    auto* order = matrix<int32_t>(c, 2, k, m);
    auto* exchanges = M::template scratch<int64_t>(0, least);
    std::copy_n(matrix<const T>(c, 0, k, m * n), m * n, f);
    lu_in_place<M>(f, n, m, n, exchanges);
    std::iota(order, order + m, 0);
    for (int64_t i = 0; i < least; ++i)
      std::swap(order[i], order[i + exchanges[i]]);
  });
}

template <class M, class T>
void solve_triangular_in(const RoutineCall& c, const SolveTriangularArgs<>& args) {
  const int64_t n = args.n, columns = args.columns;
  M::for_matrices(args.batch, n * n * columns, [&](int64_t k) {
    const T* a = matrix<const T>(c, 0, k, n * n);
    T* x = matrix<T>(c, 2, k, n * columns);
    std::copy_n(matrix<const T>(c, 1, k, n * columns), n * columns, x);
    const Triangle<T> t =
        args.transposed ? Triangle<T>{a, 1, n, !args.upper, args.unit} : Triangle<T>{a, n, 1, args.upper, args.unit};
    solve_triangle<M>(t, n, x, columns, columns);
  });
}

template <class M, class T>
void cholesky_in(const RoutineCall& c, const CholeskyArgs<>& args) {
  constexpr int64_t kSide = 32;  // of the squares in which the matrix is gone through along rows and columns
  const int64_t n = args.n, ld = row_step<T>(n), sides = (n + kSide - 1) / kSide;
  M::for_matrices(args.batch, n * n * n / 3, [&](int64_t k) {
    const T* a = matrix<const T>(c, 0, k, n * n);
    T *l = matrix<T>(c, 1, k, n * n), *u = M::template scratch<T>(1, n * ld);
    // f(row, rows, column, columns) for the squares on and above the diagonal.
    auto for_squares = [&](auto&& f) {
      M::for_ranges(sides, 1 + 16 / (sides + 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * kSide; i < std::min(n, end * kSide); i += kSide)
          for (int64_t j = i; j < n; j += kSide)
            f(i, std::min(kSide, n - i), j, std::min(kSide, n - j));
      });
    };
    // Prefetches the rows of the next square of large matrices: hardware prefetchers do not follow short reads from
    // many rows.
    constexpr int64_t kNearBytes = 1 << 20;
    const bool far = n * n * int64_t{sizeof(T)} >= kNearBytes;
    auto fetch = [&](const T* square, int64_t step) {
      for (int64_t i = 0; i < kSide; ++i)
        for (int64_t j = 0; j < kSide; j += 64 / int64_t{sizeof(T)})
          __builtin_prefetch(square + i * step + j);
    };
    for_squares([&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      T turned[kSide * kSide];
      if (const int64_t next = column + kSide; far && next + kSide <= n && rows == kSide)
        fetch(a + next * n + row, n), fetch(a + row * n + next, n), fetch(u + row * ld + next, ld);
      M::transpose(a + column * n + row, n, columns, rows, turned, kSide);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          u[(row + i) * ld + column + j] = T(0.5) * a[(row + i) * n + column + j] + T(0.5) * turned[i * kSide + j];
    });
    if (!cholesky_upper<M>(u, ld, n)) return fill_nan(l, n * n);
    for_squares([&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      if (const int64_t next = column + kSide; far && next + kSide <= n && rows == kSide)
        fetch(u + row * ld + next, ld), fetch(l + next * n + row, n), fetch(l + row * n + next, n);
      M::transpose(u + row * ld + column, ld, rows, columns, l + column * n + row, n);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = row == column ? i + 1 : 0; j < columns; ++j)
          l[(row + i) * n + column + j] = 0;
    });
  });
}

}  // namespace sheaf::routines
