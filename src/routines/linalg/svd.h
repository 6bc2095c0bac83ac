// Singular values and vectors on steps.h: Householder's reflections to bidiagonal form b, some columns and rows at a
// time (Dongarra, Sorensen and Hammarling), then bidiagonal.h, and the reflections on its vectors.
#pragma once
#include "routines/linalg/args.h"
#include "routines/linalg/bidiagonal.h"
#include "routines/linalg/eigh.h"

namespace sheaf::routines {

// The square a becomes q b p^T with b upper bidiagonal. Reflection j of q is below the diagonal of column j, that of p
// right of place j + 1 of row j.
template <class T>
struct Bidiagonal {
  std::vector<T> diagonal, above, left, right;  // above[i] is right of diagonal[i]; the factors of the reflections
  explicit Bidiagonal(int64_t n) : diagonal(static_cast<size_t>(n)), above(diagonal), left(diagonal), right(diagonal) {}
};
template <class M, class T>
class MakeBidiagonal {
 public:
  MakeBidiagonal(T* a, int64_t ld, int64_t n, Bidiagonal<T>& b)
      : a_(a),
        ld_(ld),
        n_(n),
        step_(row_step<T>(n)),
        rows_(M::template scratch<T>(0, (4 * kBlock + 2 + kMostParts) * step_)),
        columns_(rows_ + 2 * kBlock * step_),
        c_(columns_ + 2 * kBlock * step_),
        z_(c_ + step_),
        parts_(z_ + step_),
        sums_(M::template scratch<T>(7, 2 * kBlock)),
        b_(b) {}

  void run() {
    for (int64_t from = 0; from < n_; from += kBlock) {
      const int64_t block = std::min(kBlock, n_ - from), rest = from + block, left = n_ - rest;
      for (int64_t k = 0; k < block; ++k)
        eliminate(from + k, k, k + 1 < block);
      if (left > 0)
        subtract<M>(Product<T>{left, left, 2 * block, rows_ + rest, 1, step_, columns_ + rest, step_,
                               a_ + rest * ld_ + rest, ld_});
    }
  }

 private:
  static constexpr int64_t kBlock = kTridiagonalBlock, kMostParts = 8, kPanel = 16;

  // The trailing submatrix is a - v y^T - x u^T, with the reflections v and u. Rows 2 k and 2 k + 1 of the arrays hold
  // v and x, and y and u.
  T* v(int64_t k) const { return rows_ + 2 * k * step_; }
  T* x(int64_t k) const { return v(k) + step_; }
  T* y(int64_t k) const { return columns_ + 2 * k * step_; }
  T* u(int64_t k) const { return y(k) + step_; }
  // z[begin, end) -= the sums of `count` rows of `which` by the numbers in column `place` of the others.
  void take(T* z, int64_t begin, int64_t end, int64_t count, const T* which, const T* others, int64_t place) const {
    subtract<M>(Product<T>{1, end - begin, count, others + place, 1, step_, which + begin, step_, z + begin, step_});
  }
  // z[begin, end) -= the sums of `count` rows of `which` by sums_.
  void take(T* z, int64_t begin, int64_t end, int64_t count, const T* which) const {
    subtract<M>(Product<T>{1, end - begin, count, sums_, 1, 1, which + begin, step_, z + begin, step_});
  }

  // Column and row j, number k of its block. c_ and z_ are of the last call, whose `more` was k > 0.
  void eliminate(int64_t j, int64_t k, bool more) {
    const int64_t next = j + 1, after = n_ - next;
    T *vk = v(k), *yk = y(k), *uk = u(k), *row = a_ + j * ld_;
    if (k == 0)
      for (int64_t i = j; i < n_; ++i)
        c_[i] = a_[i * ld_ + j];
    std::copy(c_ + j, c_ + n_, vk + j);
    const Reflector<T> left = reflector<M>(vk + j, n_ - j);
    b_.diagonal[j] = left.value, b_.left[j] = left.factor;
    vk[j] = 1;
    for (int64_t i = next; i < n_; ++i)
      a_[i * ld_ + j] = vk[i];
    if (after == 0) return;
    std::fill(yk + next, yk + n_, T(0));
    // y = factor a^T v, with the trailing submatrix a. v is c / (c[j] - value), but 1 in place j, which z leaves out.
    constexpr T kLeast = 16 * (std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
    if (k == 0 || left.value * left.value < kLeast) {
      M::add_product(Product<T>{1, after, n_ - j, vk + j, 1, 1, row + next, ld_, yk + next, step_}, T(1));
    } else if (left.factor != 0) {
      M::divide(z_ + next, after, c_[j] - left.value);
      for (int64_t i = next; i < n_; ++i)
        yk[i] = z_[i] + row[i];
    }
    M::dots(rows_ + j, step_, 2 * k, vk + j, n_ - j, sums_);
    take(yk, next, n_, 2 * k, columns_);
    for (int64_t i = next; i < n_; ++i)
      yk[i] *= left.factor;
    std::copy_n(row + next, after, uk + next);
    take(uk, next, n_, 2 * k + 1, columns_, rows_, j);
    const Reflector<T> right = reflector<M>(uk + next, after);
    b_.above[j] = right.value, b_.right[j] = right.factor;
    uk[next] = 1;
    std::copy_n(uk + next, after, row + next);
    M::dots(columns_ + next, step_, 2 * k + 1, uk + next, after, sums_);
    multiply(next, k, right.factor, more);
  }

  // x = factor a u, with the trailing submatrix a. If `more`: also c = column `next` of the updated a, and z = a^T c,
  // without row `next`, when the rows are near from the first product: a is read once. In parts, whose number the size
  // decides.
  void multiply(int64_t next, int64_t k, T factor, bool more) const {
    const int64_t rows = n_ - next, parts = std::clamp<int64_t>(rows / 128, 1, kMostParts);
    T* xk = x(k);
    M::for_ranges(parts, 1 + (1 << 14) * parts / (rows * rows), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        T* z = part == 0 ? z_ : parts_ + part * step_;
        std::fill(z + next, z + n_, T(0));
        const int64_t last = next + rows * (part + 1) / parts;
        for (int64_t at = next + rows * part / parts; at < last; at += kPanel) {
          const int64_t to = std::min(last, at + kPanel);
          M::dots(a_ + at * ld_ + next, ld_, to - at, u(k) + next, rows, xk + at);
          take(xk, at, to, 2 * k + 1, rows_);
          for (int64_t i = at; i < to; ++i)
            xk[i] *= factor;
          if (!more) continue;
          for (int64_t i = at; i < to; ++i)
            c_[i] = a_[i * ld_ + next];
          take(c_, at, to, 2 * k + 2, rows_, columns_, next);
          const int64_t skip = at == next;  // of row `next` comes what the reflection makes of c there
          M::add_product(Product<T>{1, rows - 1, to - at - skip, c_ + at + skip, 1, 1,
                                    a_ + (at + skip) * ld_ + next + 1, ld_, z + next + 1, step_},
                         T(1));
        }
      }
    });
    for (int64_t part = 1; part < parts && more; ++part)
      for (int64_t i = next + 1; i < n_; ++i)
        z_[i] += parts_[part * step_ + i];
  }

  T* a_;
  int64_t ld_, n_, step_;
  T *rows_, *columns_, *c_, *z_, *parts_, *sums_;
  Bidiagonal<T>& b_;
};

// The reflections below the diagonal of a, on the rows of q [n, n].
template <class M, class T>
void reflect_left(const T* a, int64_t ld, int64_t n, const T* factors, T* q) {
  const int64_t many = many_reflections(n);
  T *y = M::template scratch<T>(3, n * many), *t = M::template scratch<T>(2, many * many);
  for (int64_t from = (n - 1) / many * many; from >= 0; from -= many) {
    const BlockReflector<T> b{y, t, n - from, std::min(many, n - from)};
    read_reflections(a + from * ld + from, ld, b);
    make_t<M>(b, factors + from);
    reflect_block<M>(b, false, q + from * n, n, n);
  }
}

// The singular values of the bidiagonal b, falling. False: no convergence.
template <class M, class T>
bool bidiagonal_values(const Bidiagonal<T>& b, int64_t n, std::vector<double>& s) {
  BidiagonalRows rows{
      {b.diagonal.begin(), b.diagonal.end()}, std::vector<double>(s.size()), Matrix(n, 0), Matrix(n, 0)};
  std::copy_n(b.above.begin(), n - 1, rows.above.begin() + 1);
  const bool found = diagonalise<M>(rows);
  for (int64_t i = 0; i < n; ++i)
    s[i] = std::fabs(rows.diagonal[i]);
  std::sort(s.begin(), s.end(), std::greater<>());
  return found;
}

// Without `u` and `v` the values alone.
template <class M, class T>
bool svd_one(const T* a, T* u, T* s, T* v, int64_t m, int64_t n) {
  int exponent = 0;
  if (!find_scale(a, m * n, exponent)) return false;
  const T scale = std::ldexp(T(1), -exponent);
  std::vector<T> q(static_cast<size_t>(m > n ? m * n : 0)), square(static_cast<size_t>(n * n));
  T* scaled = m > n ? q.data() : square.data();
  for (int64_t i = 0; i < m * n; ++i)
    scaled[i] = scale * a[i];
  if (m > n) qr_in_place<M>(q.data(), square.data(), m, n, u != nullptr);
  const int64_t ld = row_step<T>(n);
  std::vector<T> rows(static_cast<size_t>(n * ld));
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(square.data() + i * n, n, rows.data() + i * ld);
  Bidiagonal<T> b(n);
  MakeBidiagonal<M, T>(rows.data(), ld, n, b).run();
  std::vector<double> values(static_cast<size_t>(n));
  if (!u) {
    if (!bidiagonal_values<M>(b, n, values)) return false;
    for (int64_t i = 0; i < n; ++i)
      s[i] = static_cast<T>(std::ldexp(values[i], exponent));
    return true;
  }
  const BidiagonalSvd<M, T> found({b.diagonal.begin(), b.diagonal.end()}, {b.above.begin(), b.above.end() - 1});
  for (int64_t i = 0; i < n; ++i) {
    values[i] = found.values()[n - 1 - i];
    if (std::isnan(values[i])) return false;
  }
  // From the last row to the first, as columns.
  T* columns = m > n ? square.data() : u;
  const Block<T> left = found.left(), right = found.right();
  M::transpose(left.row(n - 1), -left.step, n, n, columns, n);
  M::transpose(right.row(n - 1), -right.step, n, n, v, n);
  reflect_left<M>(rows.data(), ld, n, b.left.data(), columns);
  reflect_vectors<M>(rows.data(), ld, n, b.right.data(), v);
  if (m > n) {
    std::fill_n(u, m * n, T(0));
    M::add_product(Product<T>{m, n, n, q.data(), n, 1, columns, n, u, n}, T(1));
  }
  const std::vector<T> signs = orient_columns(v, n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      u[i * n + j] *= signs[j];
  for (int64_t i = 0; i < n; ++i)
    s[i] = static_cast<T>(std::ldexp(values[i], exponent));
  return true;
}

template <class M, class T>
void svd_in(const RoutineCall& c, const SvdArgs<>& args) {
  const int64_t m = args.m, n = args.n;
  M::for_matrices(args.batch, n == 0 ? 0 : 4 * m * n * n + 20 * n * n * n, [&](int64_t k) {
    T *u = matrix<T>(c, 1, k, m * n), *s = matrix<T>(c, 2, k, n), *v = matrix<T>(c, 3, k, n * n);
    if (n > 0 && !svd_one<M>(matrix<const T>(c, 0, k, m * n), u, s, v, m, n))
      fill_nan(u, m * n), fill_nan(s, n), fill_nan(v, n * n);
  });
}

template <class M, class T>
void svdvals_in(const RoutineCall& c, const SvdvalsArgs<>& args) {
  const int64_t m = args.m, n = args.n;
  M::for_matrices(args.batch, n == 0 ? 0 : 4 * m * n * n, [&](int64_t k) {
    T* s = matrix<T>(c, 1, k, n);
    if (n > 0 && !svd_one<M, T>(matrix<const T>(c, 0, k, m * n), nullptr, s, nullptr, m, n)) fill_nan(s, n);
  });
}

}  // namespace sheaf::routines
