// Householder's reflections bring a matrix to tridiagonal form (symmetric) or bidiagonal form (others); implicit QL and
// QR steps with shifts then make it diagonal. Golub and Van Loan, Matrix Computations, 8.3 and 8.6.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "routines/linalg/args.h"
#include "routines/linalg/matrix.h"

namespace sheaf::routines {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kMostTurns = 60;  // for one value; three are usual

// The length of (a, b), also where the squares would underflow.
double length(double a, double b) {
  a = std::fabs(a), b = std::fabs(b);
  double large = std::max(a, b), ratio = large > 0 ? std::min(a, b) / large : 0;
  return large * std::sqrt(1 + ratio * ratio);
}

// I - factor v v^T, which takes a vector x to (value, 0, …). In: x in v.
struct Reflection {
  double factor = 0, value = 0;
};
Reflection reflect(double* v, int64_t n) {
  double below = n > 1 ? dot(v + 1, v + 1, n - 1) : 0;
  if (below == 0) return {0, v[0]};
  double size = std::sqrt(v[0] * v[0] + below), value = v[0] < 0 ? size : -size;
  v[0] -= value;
  return {2 / (v[0] * v[0] + below), value};
}

// Rows [at, …) and columns [from, …) of m, reflected from the left: m - factor v (v^T m).
void reflect_rows(Matrix& m, int64_t at, int64_t from, const double* v, double factor, std::vector<double>& scratch) {
  int64_t n = m.columns - from;
  if (factor == 0 || n <= 0) return;
  std::fill_n(scratch.begin(), n, 0.0);
  for (int64_t i = at; i < m.rows; ++i)
    add_scaled(scratch.data(), v[i - at], m.row(i) + from, n);
  for (int64_t i = at; i < m.rows; ++i)
    add_scaled(m.row(i) + from, -factor * v[i - at], scratch.data(), n);
}

struct Turn {
  double c, s;
};

// Turns neighbouring rows against each other, one pair after the other: `first` and first + step, that and the next, …
void turn_rows(Matrix& m, int64_t first, int step, const std::vector<Turn>& turns) {
  constexpr int64_t kWide = 16;  // two cache lines of a row at a time, which stay in registers on their way down
  auto chunk = [&](int64_t at, auto width) {
    double carried[kWide], done[kWide];
    double* row = m.row(first) + at;
    std::copy(row, row + width, carried);
    for (const Turn& t : turns) {
      double* next = row + step * m.stride;
      for (int64_t i = 0; i < width; ++i) {
        done[i] = t.c * carried[i] + t.s * next[i];
        carried[i] = t.c * next[i] - t.s * carried[i];
      }
      std::copy(done, done + width, row);
      row = next;
    }
    std::copy(carried, carried + width, row);
  };
  int64_t at = 0;
  for (; at + kWide <= m.columns; at += kWide)
    chunk(at, std::integral_constant<int64_t, kWide>());
  if (at < m.columns) chunk(at, m.columns - at);
}

Matrix transposed(const Matrix& m) {
  Matrix t(m.columns, m.rows);
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = 0; j < m.columns; ++j)
      t.row(j)[i] = m.row(i)[j];
  return t;
}

// The product of reflections k = 0, 1, … that act on rows [k + shift, …), v_k in row k of `vectors`: its first columns,
// as rows.
Matrix product_of(const Matrix& vectors, const std::vector<double>& factors, int64_t shift, int64_t rows,
                  int64_t columns) {
  Matrix q(rows, columns);
  for (int64_t i = 0; i < columns; ++i)
    q.row(i)[i] = 1;
  std::vector<double> scratch(static_cast<size_t>(columns));
  for (auto k = static_cast<int64_t>(factors.size()); k-- > 0;)
    reflect_rows(q, k + shift, k + shift, vectors.row(k), factors[k], scratch);
  return transposed(q);
}

// a = q t q^T with t tridiagonal: its diagonal, its off-diagonal, and the columns of q as rows.
struct Tridiagonal {
  std::vector<double> diagonal, off_diagonal;
  Matrix vectors;
};
Tridiagonal tridiagonal(Matrix a) {
  int64_t n = a.rows, steps = std::max<int64_t>(n - 2, 0);
  Matrix v(steps, n);
  std::vector<double> factors(static_cast<size_t>(steps)), p(static_cast<size_t>(n)),
      off_diagonal(static_cast<size_t>(n));
  for (int64_t k = 0; k < steps; ++k) {
    int64_t from = k + 1, m = n - from;
    double* x = v.row(k);
    std::copy_n(a.row(k) + from, m, x);
    Reflection h = reflect(x, m);
    factors[k] = h.factor;
    off_diagonal[k] = h.value;
    if (h.factor == 0) continue;
    // Both sides at once: a - x w^T - w x^T, with w = p - (factor / 2) (p . x) x and p = factor a x.
    for (int64_t i = 0; i < m; ++i)
      p[i] = h.factor * dot(a.row(from + i) + from, x, m);
    add_scaled(p.data(), -0.5 * h.factor * dot(p.data(), x, m), x, m);
    for (int64_t i = 0; i < m; ++i) {
      double* row = a.row(from + i) + from;
      for (int64_t j = 0; j < m; ++j)
        row[j] -= x[i] * p[j] + p[i] * x[j];
    }
  }
  if (n > 1) off_diagonal[n - 2] = a.row(n - 2)[n - 1];
  std::vector<double> diagonal(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    diagonal[i] = a.row(i)[i];
  return {std::move(diagonal), std::move(off_diagonal), product_of(v, factors, 1, n, n)};
}

// Leaves the eigenvalues in the diagonal and the vectors in the rows, in no order. False: no convergence.
bool diagonalise(Tridiagonal& t) {
  auto& d = t.diagonal;
  auto& e = t.off_diagonal;
  auto n = static_cast<int64_t>(d.size());
  std::vector<Turn> turns;
  for (int64_t at = 0; at < n; ++at)
    for (int round = 0;; ++round) {
      int64_t end = at;  // the block that begins at `at` ends where an off-diagonal element is negligible
      while (end < n - 1 && std::fabs(e[end]) > kEps * (std::fabs(d[end]) + std::fabs(d[end + 1])))
        ++end;
      if (end == at) break;
      if (round == kMostTurns) return false;
      // Wilkinson's shift, from the first two rows; then a step of QL from the end of the block, which chases the bulge
      // up.
      double half = (d[at + 1] - d[at]) / (2 * e[at]), root = length(half, 1);
      double g = d[end] - d[at] + e[at] / (half + (half < 0 ? -root : root));
      double s = 1, c = 1, p = 0;
      turns.clear();
      int64_t i = end - 1;
      for (; i >= at; --i) {
        double f = s * e[i], b = c * e[i], r = length(f, g);
        e[i + 1] = r;
        if (r == 0) break;  // the block falls apart here
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        double q = (d[i] - g) * s + 2 * c * b;
        p = s * q;
        d[i + 1] = g + p;
        g = c * q - b;
        turns.push_back({c, s});
      }
      turn_rows(t.vectors, end, -1, turns);
      if (i >= at) {
        d[i + 1] -= p;
      } else {
        d[at] -= p;
        e[at] = g;
      }
      e[end] = 0;
    }
  return true;
}

// a = u b v^T with b bidiagonal: its diagonal, above[i] over diagonal[i], and the columns of u and v as rows.
struct Bidiagonal {
  std::vector<double> diagonal, above;
  Matrix u, v;
};
Bidiagonal bidiagonal(Matrix a) {
  int64_t m = a.rows, n = a.columns, right_steps = std::max<int64_t>(n - 2, 0);
  Matrix left(n, m), right(right_steps, n);
  std::vector<double> left_factors(static_cast<size_t>(n)), right_factors(static_cast<size_t>(right_steps)),
      scratch(static_cast<size_t>(n));
  std::vector<double> diagonal(static_cast<size_t>(n)), above(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    double* x = left.row(k);
    for (int64_t i = k; i < m; ++i)
      x[i - k] = a.row(i)[k];
    Reflection h = reflect(x, m - k);
    left_factors[k] = h.factor;
    diagonal[k] = h.value;
    reflect_rows(a, k, k + 1, x, h.factor, scratch);
    int64_t from = k + 1;
    if (k < right_steps) {
      double* y = right.row(k);
      std::copy_n(a.row(k) + from, n - from, y);
      Reflection r = reflect(y, n - from);
      right_factors[k] = r.factor;
      above[from] = r.value;
      for (int64_t i = from; i < m && r.factor != 0; ++i)
        add_scaled(a.row(i) + from, -r.factor * dot(a.row(i) + from, y, n - from), y, n - from);
    } else if (from < n) {
      above[from] = a.row(k)[from];
    }
  }
  return {std::move(diagonal), std::move(above), product_of(left, left_factors, 0, m, n),
          product_of(right, right_factors, 1, n, n)};
}

// Where the block that ends at `end` begins; a negligible diagonal element just before it, with something next to it,
// is cleared.
int64_t start_of_block(Bidiagonal& b, int64_t end, double tiny) {
  auto& d = b.diagonal;
  auto& e = b.above;
  int64_t at = end;
  for (; at > 0 && std::fabs(e[at]) > tiny; --at)
    if (std::fabs(d[at - 1]) <= tiny) {
      // Row at - 1 is e[at] alone, which turns against the rows below move to the right until nothing is left of it.
      double f = e[at];
      e[at] = 0;
      for (int64_t i = at; i <= end && std::fabs(f) > tiny; ++i) {
        double r = length(f, d[i]), c = d[i] / r, s = -f / r;
        d[i] = r;
        double *low = b.u.row(at - 1), *high = b.u.row(i);
        for (int64_t j = 0; j < b.u.columns; ++j) {
          double y = low[j], z = high[j];
          low[j] = c * y + s * z;
          high[j] = c * z - s * y;
        }
        if (i == end) break;
        f = s * e[i + 1];
        e[i + 1] *= c;
      }
      break;
    }
  return at;
}

// Leaves the singular values in the diagonal, with signs, and the vectors in the rows, in no order. False: no
// convergence.
bool diagonalise(Bidiagonal& b) {
  auto& d = b.diagonal;
  auto& e = b.above;
  double norm = 0;
  for (size_t i = 0; i < d.size(); ++i)
    norm = std::max(norm, std::fabs(d[i]) + std::fabs(e[i]));
  double tiny = kEps * norm;
  std::vector<Turn> left, right;
  for (auto end = static_cast<int64_t>(d.size()); end-- > 0;)
    for (int round = 0;; ++round) {
      int64_t at = start_of_block(b, end, tiny);
      if (at == end) break;
      if (round == kMostTurns) return false;
      // The shift is the eigenvalue of the last two rows of b^T b that is nearer to the last one; then a step of QR.
      double x = d[at], y = d[end - 1], z = d[end], g = end - 1 > at ? e[end - 1] : 0, h = e[end];
      double f = ((y - z) * (y + z) + (g - h) * (g + h)) / (2 * h * y), root = length(f, 1);
      f = ((x - z) * (x + z) + h * (y / (f + (f < 0 ? -root : root)) - h)) / x;
      double c = 1, s = 1;
      left.clear();
      right.clear();
      for (int64_t j = at; j < end; ++j) {
        g = e[j + 1];
        y = d[j + 1];
        h = s * g;
        g = c * g;
        double r = length(f, h);
        if (j > at) e[j] = r;
        c = r > 0 ? f / r : 1;
        s = r > 0 ? h / r : 0;
        right.push_back({c, s});
        f = x * c + g * s;
        g = g * c - x * s;
        h = y * s;
        y = y * c;
        r = length(f, h);
        d[j] = r;
        c = r > 0 ? f / r : 1;
        s = r > 0 ? h / r : 0;
        left.push_back({c, s});
        f = c * g + s * y;
        x = c * y - s * g;
      }
      turn_rows(b.v, at, 1, right);
      turn_rows(b.u, at, 1, left);
      e[end] = f;
      d[end] = x;
    }
  return true;
}

// The exponent that brings the largest element near one: squares neither overflow nor vanish. False: not all are
// finite.
template <class T>
bool find_scale(const T* a, int64_t n, int& exponent) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    double x = std::fabs(static_cast<double>(a[i]));
    if (!(x <= std::numeric_limits<double>::max())) return false;
    largest = std::max(largest, x);
  }
  exponent = 0;
  if (largest > 0) std::frexp(largest, &exponent);
  return true;
}

std::vector<int64_t> order_of(const std::vector<double>& keys, bool falling) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return falling ? keys[i] > keys[j] : keys[i] < keys[j]; });
  return order;
}

// Vectors are determined up to their signs: the largest component (the first of equals) is made positive, so that the
// vectors of a matrix nearby are nearby too. True when the row was negated.
bool orient(Matrix& m, int64_t row) {
  auto* v = m.row(row);
  int64_t largest = 0;
  for (int64_t j = 1; j < m.columns; ++j)
    if (std::abs(v[j]) > std::abs(v[largest])) largest = j;
  if (m.columns == 0 || !std::signbit(v[largest])) return false;
  for (int64_t j = 0; j < m.columns; ++j)
    v[j] = -v[j];
  return true;
}

// Row order[j] of m as column j.
template <class T>
void put_columns(T* out, const Matrix& m, const std::vector<int64_t>& order) {
  auto n = static_cast<int64_t>(order.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m.columns; ++i)
      out[i * n + j] = static_cast<T>(m.row(order[j])[i]);
}

template <class T>
bool eigh_one(const T* a, T* w, T* v, int64_t n) {
  int exponent = 0;
  if (!find_scale(a, n * n, exponent)) return false;
  Matrix m(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      m.row(i)[j] = 0.5 * (std::ldexp(static_cast<double>(a[i * n + j]), -exponent) +
                           std::ldexp(static_cast<double>(a[j * n + i]), -exponent));
  Tridiagonal t = tridiagonal(std::move(m));
  if (!diagonalise(t)) return false;
  std::vector<int64_t> order = order_of(t.diagonal, false);
  for (int64_t i = 0; i < n; ++i)
    w[i] = static_cast<T>(std::ldexp(t.diagonal[order[i]], exponent));
  for (int64_t i = 0; i < n; ++i)
    orient(t.vectors, i);
  put_columns(v, t.vectors, order);
  return true;
}

template <class T>
bool svd_one(const T* a, T* u, T* s, T* v, int64_t m, int64_t n) {
  int exponent = 0;
  if (!find_scale(a, m * n, exponent)) return false;
  Matrix scaled(m, n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      scaled.row(i)[j] = std::ldexp(static_cast<double>(a[i * n + j]), -exponent);
  Bidiagonal b = bidiagonal(std::move(scaled));
  if (!diagonalise(b)) return false;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::signbit(b.diagonal[i])) continue;
    b.diagonal[i] = -b.diagonal[i];
    for (int64_t j = 0; j < n; ++j)
      b.v.row(i)[j] = -b.v.row(i)[j];
  }
  for (int64_t i = 0; i < n; ++i)
    if (orient(b.v, i))
      for (int64_t j = 0; j < b.u.columns; ++j)
        b.u.row(i)[j] = -b.u.row(i)[j];
  std::vector<int64_t> order = order_of(b.diagonal, true);
  for (int64_t i = 0; i < n; ++i)
    s[i] = static_cast<T>(std::ldexp(b.diagonal[order[i]], exponent));
  put_columns(u, b.u, order);
  put_columns(v, b.v, order);
  return true;
}

template <class T>
void eigh_in(const RoutineCall& c, const EighArgs<>& a) {
  int64_t n = a.n;
  for (int64_t k = 0; k < a.batch; ++k) {
    T *w = matrix<T>(c, 1, k, n), *v = matrix<T>(c, 2, k, n * n);
    if (!eigh_one(matrix<const T>(c, 0, k, n * n), w, v, n)) fill_nan(w, n), fill_nan(v, n * n);
  }
}

template <class T>
void svd_in(const RoutineCall& c, const SvdArgs<>& a) {
  int64_t m = a.m, n = a.n;
  for (int64_t k = 0; k < a.batch; ++k) {
    T *u = matrix<T>(c, 1, k, m * n), *s = matrix<T>(c, 2, k, n), *v = matrix<T>(c, 3, k, n * n);
    if (!svd_one(matrix<const T>(c, 0, k, m * n), u, s, v, m, n))
      fill_nan(u, m * n), fill_nan(s, n), fill_nan(v, n * n);
  }
}

}  // namespace

void eigh(const RoutineCall& c, const EighArgs<>& a) {
  is_wide(a.dtype) ? eigh_in<double>(c, a) : eigh_in<float>(c, a);
}
void svd(const RoutineCall& c, const SvdArgs<>& a) { is_wide(a.dtype) ? svd_in<double>(c, a) : svd_in<float>(c, a); }

}  // namespace sheaf::routines
