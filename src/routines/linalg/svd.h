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
void make_bidiagonal(T* a, int64_t ld, int64_t n, Bidiagonal<T>& b) {
  constexpr int64_t kBlock = kTridiagonalBlock;
  const int64_t step = row_step<T>(n);
  // a less v y^T and x u^T is what is left to do, v and u the reflections.
  T* v = M::template scratch<T>(0, 4 * kBlock * step);
  T *y = v + kBlock * step, *x = y + kBlock * step, *u = x + kBlock * step;
  T *sums = M::template scratch<T>(7, 2 * kBlock), *more = sums + kBlock;
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t block = std::min(kBlock, n - from);
    std::fill_n(v, 4 * kBlock * step, T(0));
    // z -= the sums of rows of p and q from `at` on by the numbers in column `place` of the rows of s and t.
    auto take = [&](T* z, int64_t at, const T* p, const T* s, int64_t rows, const T* q, const T* t, int64_t more_rows,
                    int64_t place) {
      subtract<M>(Product<T>{1, n - at, rows, s + place, 1, step, p + at, step, z, n});
      subtract<M>(Product<T>{1, n - at, more_rows, t + place, 1, step, q + at, step, z, n});
    };
    for (int64_t k = 0; k < block; ++k) {
      const int64_t j = from + k, after = n - j - 1;
      T *vk = v + k * step, *yk = y + k * step, *xk = x + k * step, *uk = u + k * step;
      for (int64_t i = j; i < n; ++i)
        vk[i] = a[i * ld + j];
      take(vk + j, j, v, y, k, x, u, k, j);
      const Reflector<T> left = reflector<M>(vk + j, n - j);
      b.diagonal[j] = left.value, b.left[j] = left.factor;
      vk[j] = 1;
      for (int64_t i = j + 1; i < n; ++i)
        a[i * ld + j] = vk[i];
      if (after == 0) break;
      M::add_product(Product<T>{1, after, n - j, vk + j, 1, 1, a + j * ld + j + 1, ld, yk + j + 1, step}, T(1));
      M::dots(v + j, step, k, vk + j, n - j, sums);
      M::dots(x + j, step, k, vk + j, n - j, more);
      subtract<M>(Product<T>{1, after, k, sums, 1, 1, y + j + 1, step, yk + j + 1, step});
      subtract<M>(Product<T>{1, after, k, more, 1, 1, u + j + 1, step, yk + j + 1, step});
      for (int64_t i = j + 1; i < n; ++i)
        yk[i] *= left.factor;
      T* row = a + j * ld;
      std::copy_n(row + j + 1, after, uk + j + 1);
      take(uk + j + 1, j + 1, y, v, k + 1, u, x, k, j);
      const Reflector<T> right = reflector<M>(uk + j + 1, after);
      b.above[j] = right.value, b.right[j] = right.factor;
      uk[j + 1] = 1;
      std::copy_n(uk + j + 1, after, row + j + 1);
      M::for_ranges(after, 1 + (1 << 15) / after, [&](int64_t begin, int64_t end) {
        M::dots(a + (j + 1 + begin) * ld + j + 1, ld, end - begin, uk + j + 1, after, xk + j + 1 + begin);
      });
      M::dots(y + j + 1, step, k + 1, uk + j + 1, after, sums);
      M::dots(u + j + 1, step, k, uk + j + 1, after, more);
      subtract<M>(Product<T>{1, after, k + 1, sums, 1, 1, v + j + 1, step, xk + j + 1, step});
      subtract<M>(Product<T>{1, after, k, more, 1, 1, x + j + 1, step, xk + j + 1, step});
      for (int64_t i = j + 1; i < n; ++i)
        xk[i] *= right.factor;
    }
    const int64_t rest = from + block, left = n - rest;
    T* low = a + rest * ld + rest;
    subtract<M>(Product<T>{left, left, block, v + rest, 1, step, y + rest, step, low, ld});
    subtract<M>(Product<T>{left, left, block, x + rest, 1, step, u + rest, step, low, ld});
  }
}

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
template <class T>
bool bidiagonal_values(const Bidiagonal<T>& b, int64_t n, std::vector<double>& s) {
  BidiagonalRows rows{
      {b.diagonal.begin(), b.diagonal.end()}, std::vector<double>(s.size()), Matrix(n, 0), Matrix(n, 0)};
  std::copy_n(b.above.begin(), n - 1, rows.above.begin() + 1);
  const bool found = diagonalise(rows);
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
  make_bidiagonal<M>(rows.data(), ld, n, b);
  std::vector<double> values(static_cast<size_t>(n));
  if (!u) {
    if (!bidiagonal_values(b, n, values)) return false;
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
