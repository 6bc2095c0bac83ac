// Gaussian elimination with row exchanges in panels of columns, and Cholesky's factorisation by rows.

#include <cmath>

#include "routines/linalg/args.h"
#include "routines/linalg/matrix.h"

namespace sheaf::routines {
namespace {

// Columns that are eliminated together: their pivot rows stay in the cache while every row below is changed by all of
// them.
constexpr int64_t kPanel = 32;

// y -= sum of k[i] * row i of m from column `from` on, i = first … last - 1, n elements. One after the other for every
// element, so that the grouping, which saves loads and stores, does not show.
void subtract_rows(double* y, const double* k, const Matrix& m, int64_t first, int64_t last, int64_t from, int64_t n) {
  int64_t i = first;
  for (; i + 4 <= last; i += 4) {
    const double *a = m.row(i) + from, *b = m.row(i + 1) + from, *c = m.row(i + 2) + from, *d = m.row(i + 3) + from;
    double p = k[i], q = k[i + 1], r = k[i + 2], s = k[i + 3];
    for (int64_t j = 0; j < n; ++j)
      y[j] = (((y[j] - p * a[j]) - q * b[j]) - r * c[j]) - s * d[j];
  }
  for (; i < last; ++i)
    add_scaled(y, -k[i], m.row(i) + from, n);
}

void swap_rows(Matrix& m, int64_t i, int64_t j) { std::swap_ranges(m.row(i), m.row(i) + m.columns, m.row(j)); }

// Leaves the upper triangle in `m` and does to the rows of `right` what it does to those of `m`. Gives the sign that
// the row exchanges give the determinant. A column without a pivot has nothing to clear.
double eliminate(Matrix& m, Matrix& right) {
  double sign = 1;
  int64_t n = m.rows;
  for (int64_t begin = 0; begin < n; begin += kPanel) {
    int64_t end = std::min(n, begin + kPanel);
    for (int64_t j = begin; j < end; ++j) {
      int64_t p = j;
      for (int64_t i = j + 1; i < n; ++i)
        if (std::fabs(m.row(i)[j]) > std::fabs(m.row(p)[j])) p = i;
      if (p != j) {
        swap_rows(m, p, j);
        swap_rows(right, p, j);
        sign = -sign;
      }
      double pivot = m.row(j)[j];
      if (pivot == 0) continue;
      for (int64_t i = j + 1; i < n; ++i) {
        double& k = m.row(i)[j];
        k /= pivot;
        add_scaled(m.row(i) + j + 1, -k, m.row(j) + j + 1, end - j - 1);
      }
    }
    // What is right of the panel: a row is final when its turn comes to change those below it.
    for (int64_t i = begin + 1; i < n; ++i) {
      int64_t last = std::min(i, end);
      subtract_rows(m.row(i) + end, m.row(i), m, begin, last, end, n - end);
      subtract_rows(right.row(i), m.row(i), right, begin, last, 0, right.columns);
    }
  }
  return sign;
}

template <class T>
Matrix read(const T* from, int64_t rows, int64_t columns) {
  Matrix m(rows, columns);
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(from + i * columns, columns, m.row(i));
  return m;
}

template <class T>
void solve_in(const RoutineCall& c, const SolveArgs<>& a) {
  int64_t n = a.n, columns = a.columns;
  for (int64_t k = 0; k < a.batch; ++k) {
    Matrix a = read(matrix<const T>(c, 0, k, n * n), n, n), x = read(matrix<const T>(c, 1, k, n * columns), n, columns);
    eliminate(a, x);
    T* out = matrix<T>(c, 2, k, n * columns);
    for (int64_t i = n; i-- > 0;) {
      subtract_rows(x.row(i), a.row(i), x, i + 1, n, 0, columns);
      for (int64_t j = 0; j < columns; ++j) {
        x.row(i)[j] /= a.row(i)[i];
        out[i * columns + j] = static_cast<T>(x.row(i)[j]);
      }
    }
  }
}

template <class T>
void det_in(const RoutineCall& c, const DetArgs<>& a) {
  int64_t n = a.n;
  for (int64_t k = 0; k < a.batch; ++k) {
    Matrix a = read(matrix<const T>(c, 0, k, n * n), n, n), none(n, 0);
    double d = eliminate(a, none);
    for (int64_t i = 0; i < n; ++i)
      d *= a.row(i)[i];
    *matrix<T>(c, 1, k, 1) = static_cast<T>(d);
  }
}

template <class T>
bool cholesky_one(const T* a, T* out, int64_t n) {
  Matrix l(n, n);
  for (int64_t i = 0; i < n; ++i) {
    double* row = l.row(i);
    for (int64_t j = 0; j <= i; ++j) {
      double rest =
          0.5 * (static_cast<double>(a[i * n + j]) + static_cast<double>(a[j * n + i])) - dot(row, l.row(j), j);
      if (j < i)
        row[j] = rest / l.row(j)[j];
      else if (rest > 0)
        row[i] = std::sqrt(rest);
      else
        return false;
    }
    for (int64_t j = 0; j < n; ++j)
      out[i * n + j] = static_cast<T>(row[j]);
  }
  return true;
}

template <class T>
void cholesky_in(const RoutineCall& c, const CholeskyArgs<>& a) {
  int64_t n = a.n;
  for (int64_t k = 0; k < a.batch; ++k) {
    T* l = matrix<T>(c, 1, k, n * n);
    if (!cholesky_one(matrix<const T>(c, 0, k, n * n), l, n)) fill_nan(l, n * n);
  }
}

}  // namespace

void solve(const RoutineCall& c, const SolveArgs<>& a) {
  is_wide(a.dtype) ? solve_in<double>(c, a) : solve_in<float>(c, a);
}
void det(const RoutineCall& c, const DetArgs<>& a) { is_wide(a.dtype) ? det_in<double>(c, a) : det_in<float>(c, a); }
void cholesky(const RoutineCall& c, const CholeskyArgs<>& a) {
  is_wide(a.dtype) ? cholesky_in<double>(c, a) : cholesky_in<float>(c, a);
}

}  // namespace sheaf::routines
