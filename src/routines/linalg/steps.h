// What the blocked factorizations are made of, and its definition to the bit. An algorithm is a template over a class M
// of such steps: `Plain` here is the definition, `kernels/linalg` has the fast ones with the same bits.
//
// M has:
//   add_product(p, sign, part): p.c += sign p.a p.b, see Product. `Part::Upper`: at least where row <= column.
//   dots(x, ldx, rows, y, n, out): out[i] = the product of row i of x and y, n elements each: element l is added to
//   sum l % kDotSums by a fused multiply-add, and the sums are added pairwise, i and i + half of them.
//   symmetric_rows(a, ld, n, begin, end, x, y): what rows [begin, end) of a symmetric matrix, and the columns below
//   its diagonal that mirror them, add to the product with x, see there. The upper triangle is read.
//   pole_sums(z, poles, n, x), turn_rows(rows, step, columns, turns, count): of double, see there.
//   divide(x, n, by): of n consecutive elements.
//   transpose(from, from_step, rows, columns, to, to_step): `to` is [columns, rows].
//   solve_small(t, n, x, ldx, columns), cholesky_small(a, ld, n), lu_small(p, ld, m, from, to, width, exchanges): of at
//   most kSmall rows or kSmallPanel columns, one after the other by fused multiply-adds.
//   for_ranges(n, grain, f): f(begin, end) for disjoint ranges that cover [0, n), of `grain` at least but the last.
//   for_matrices(batch, flops, f): f(k) for each matrix of a batch, by so many operations each.
//   scratch<T>(slot, n): memory of this thread.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "scalar/scalar_ops.h"

namespace sheaf::routines {

// c [m, n] and b [k, n], whose rows are contiguous and ldc and ldb apart, and a [m, k] by the strides of its rows and
// columns.
template <class T>
struct Product {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
};

// A triangular matrix by the strides of its rows and columns; transposing swaps these and `upper`.
template <class T>
struct Triangle {
  const T* data;
  int64_t row, column;
  bool upper, unit;  // unit: the diagonal counts as ones and is not read
  Triangle from(int64_t i) const { return {data + i * (row + column), row, column, upper, unit}; }
};

inline constexpr int64_t kSmall = 8, kSmallPanel = 4;

enum class Part : uint8_t { All, Upper };

// An element is added to for each block of so many k: the chain of fused multiply-adds of sign a by b, which starts
// from zero, or from its first product. Then 0 is added, so that the two differ in nothing: it makes -0 to 0.
inline constexpr int64_t kProductBlock = 256;

inline constexpr int kDotSums = 32;
template <class T, int kSums>
T total_of(T (&sums)[kSums]) {
  for (int h = kSums / 2; h > 0; h /= 2)
    for (int i = 0; i < h; ++i)
      sums[i] += sums[i + h];
  return sums[0];
}

// Rows that symmetric_rows reads together, and the sums of a row.
inline constexpr int64_t kSymmetricRows = 4;
template <class T>
inline constexpr int kSymmetricSums = 64 / sizeof(T);

// The sums over i of z_i t and of t^2, t being z_i / (poles_i - x): kPoleSums of each, to which elements are added in
// turn, and which are added pairwise.
struct PoleSums {
  double value, slope;
};
inline constexpr int kPoleSums = 8;

// A rotation of two rows: c times the first and s times the second, and c times the second less s times the first.
struct Turn {
  double c, s;
};

// Where factorizations cut n > 1 rows or columns in two: the largest power of two below n.
constexpr int64_t half(int64_t n) { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n - 1))); }

// Rows apart so far that those of a column do not fall into few sets of the cache: an odd number of cache lines.
template <class T>
constexpr int64_t row_step(int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(T);
  return ((n + kLine - 1) / kLine | 1) * kLine;
}

struct Plain {
  template <class T>
  static void add_product(const Product<T>& p, T sign, Part part = Part::All) {
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = part == Part::Upper ? i : 0; j < p.n; ++j)
        for (int64_t begin = 0; begin < p.k; begin += kProductBlock) {
          T chain = 0;
          for (int64_t l = begin; l < std::min(p.k, begin + kProductBlock); ++l)
            chain = scalar::apply<scalar::Op::Fma>(sign * p.a[i * p.a_row + l * p.a_column], p.b[l * p.ldb + j], chain);
          p.c[i * p.ldc + j] = (p.c[i * p.ldc + j] + chain) + T(0);
        }
  }
  template <class T>
  static void dots(const T* x, int64_t ldx, int64_t rows, const T* y, int64_t n, T* out) {
    for (int64_t i = 0; i < rows; ++i) {
      T sums[kDotSums] = {};
      for (int64_t l = 0; l < n; ++l)
        sums[l % kDotSums] = scalar::apply<scalar::Op::Fma>(x[i * ldx + l], y[l], sums[l % kDotSums]);
      out[i] = total_of(sums);
    }
  }
  // Rows come kSymmetricRows at a time. First what is on and above the diagonal within these columns, row by row. Then
  // each column l to the right of them: y[l] gets a[row][l] x[row] of one row after the other, and a[row][l] x[l] is
  // added to one of the sums of the row, which are used in rotation and added pairwise. y is [n], and is added to.
  template <class T>
  static void symmetric_rows(const T* a, int64_t ld, int64_t n, int64_t begin, int64_t end, const T* x, T* y) {
    using scalar::apply, scalar::Op;
    for (int64_t first = begin; first < end; first += kSymmetricRows) {
      const int64_t after = std::min(end, first + kSymmetricRows);
      for (int64_t i = first; i < after; ++i) {
        const T* row = a + i * ld;
        y[i] = apply<Op::Fma>(row[i], x[i], y[i]);
        for (int64_t l = i + 1; l < after; ++l) {
          y[i] = apply<Op::Fma>(row[l], x[l], y[i]);
          y[l] = apply<Op::Fma>(row[l], x[i], y[l]);
        }
      }
      for (int64_t i = first; i < after; ++i) {
        const T* row = a + i * ld;
        T sums[kSymmetricSums<T>] = {};
        for (int64_t l = after; l < n; ++l) {
          T& sum = sums[(l - after) % kSymmetricSums<T>];
          sum = apply<Op::Fma>(row[l], x[l], sum);
          y[l] = apply<Op::Fma>(row[l], x[i], y[l]);
        }
        y[i] += total_of(sums);
      }
    }
  }
  static PoleSums pole_sums(const double* z, const double* poles, int64_t n, double x) {
    double values[kPoleSums] = {}, slopes[kPoleSums] = {};
    for (int64_t i = 0; i < n; ++i) {
      const double t = z[i] / (poles[i] - x);
      values[i % kPoleSums] += z[i] * t;
      slopes[i % kPoleSums] += t * t;
    }
    return {total_of(values), total_of(slopes)};
  }
  // Turns neighbouring rows, `step` elements apart, against each other, one pair after the other: the first and the
  // second, that and the third, …
  static void turn_rows(double* rows, int64_t step, int64_t columns, const Turn* turns, int64_t count) {
    for (int64_t i = 0; i < count; ++i, rows += step)
      for (int64_t j = 0; j < columns; ++j) {
        const double x = rows[j], y = rows[step + j];
        rows[j] = turns[i].c * x + turns[i].s * y;
        rows[step + j] = turns[i].c * y - turns[i].s * x;
      }
  }
  template <class T>
  static void divide(T* x, int64_t n, T by) {
    for (int64_t i = 0; i < n; ++i)
      x[i] /= by;
  }
  template <class T>
  static void transpose(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to, int64_t to_step) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        to[j * to_step + i] = from[i * from_step + j];
  }
  // to -= by x.
  template <class T>
  static void subtract_row(T* to, T by, const T* x, int64_t n) {
    for (int64_t j = 0; j < n; ++j)
      to[j] = scalar::apply<scalar::Op::Fma>(-by, x[j], to[j]);
  }
  template <class T>
  static void solve_small(const Triangle<T>& t, int64_t n, T* x, int64_t ldx, int64_t columns) {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t k = t.upper ? n - 1 - step : step, begin = t.upper ? 0 : k + 1, end = t.upper ? k : n;
      if (!t.unit) divide(x + k * ldx, columns, t.data[k * (t.row + t.column)]);
      for (int64_t i = begin; i < end; ++i)
        subtract_row(x + i * ldx, t.data[i * t.row + k * t.column], x + k * ldx, columns);
    }
  }
  // See cholesky_upper.
  template <class T>
  static bool cholesky_small(T* a, int64_t ld, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
      T* row = a + j * ld;
      if (!(row[j] > 0)) return false;
      row[j] = std::sqrt(row[j]);
      divide(row + j + 1, n - j - 1, row[j]);
      for (int64_t i = j + 1; i < n; ++i)
        subtract_row(a + i * ld + i, row[i], row + i, n - i);
    }
    return true;
  }
  // See lu_panel. The pivot is the first of the largest magnitude, where NaN is the smallest.
  template <class T>
  static void lu_small(T* p, int64_t ld, int64_t m, int64_t from, int64_t to, int64_t width, int64_t* exchanges) {
    for (int64_t j = from; j < to; ++j) {
      T* x = p + j * ld;
      int64_t at = j;
      for (int64_t i = j + 1; i < m; ++i)
        if (std::fabs(x[i]) > std::fabs(x[at]) || (std::isnan(x[at]) && !std::isnan(x[i]))) at = i;
      exchanges[j] = at - j;
      for (int64_t c = 0; c < width && at != j; ++c)
        std::swap(p[c * ld + j], p[c * ld + at]);
      // A zero pivot has nothing to clear below it.
      if (x[j] != 0) divide(x + j + 1, m - j - 1, x[j]);
      for (int64_t c = j + 1; c < to; ++c)
        subtract_row(p + c * ld + j + 1, p[c * ld + j], x + j + 1, m - j - 1);
    }
  }
  template <class F>
  static void for_ranges(int64_t n, int64_t, F&& f) {
    if (n > 0) f(int64_t{0}, n);
  }
  template <class F>
  static void for_matrices(int64_t batch, int64_t, F&& f) {
    for (int64_t k = 0; k < batch; ++k)
      f(k);
  }
  template <class T>
  static T* scratch(int slot, int64_t n) {
    static thread_local std::vector<T> memory[8];
    if (static_cast<int64_t>(memory[slot].size()) < n) memory[slot].resize(static_cast<size_t>(n));
    return memory[slot].data();
  }
};

// c -= a b.
template <class M, class T>
void subtract(const Product<T>& p, Part part = Part::All) {
  if (p.m > 0 && p.n > 0 && p.k > 0) M::add_product(p, T(-1), part);
}

}  // namespace sheaf::routines
