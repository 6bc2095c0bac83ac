// Eigenvalues and vectors of symmetric matrices on steps.h: Householder's reflections to tridiagonal form, some columns
// at a time (Dongarra, Sorensen and Hammarling), then tridiagonal.h, and the reflections on its vectors.
#pragma once
#include "routines/linalg/args.h"
#include "routines/linalg/qr.h"
#include "routines/linalg/tridiagonal.h"

namespace sheaf::routines {

inline constexpr int64_t kTridiagonalBlock = 32;

// The symmetric a becomes q t q^T: reflection j is below its place j + 1 of column j, and acts on the places from j + 1
// on.
template <class M, class T>
void make_tridiagonal(T* a, int64_t ld, int64_t n, T* diagonal, T* off_diagonal, T* factors) {
  const int64_t step = row_step<T>(n);
  T* v = M::template scratch<T>(0, 2 * kTridiagonalBlock * step);  // reflections as rows, and what they take from a
  T *w = v + kTridiagonalBlock * step, *sums = M::template scratch<T>(7, n + 2 * kTridiagonalBlock);
  // out[i] = row i of m times x, by all threads.
  auto times = [](const T* m, int64_t m_step, int64_t rows, const T* x, int64_t length, T* out) {
    M::for_ranges(rows, 1 + (1 << 15) / (length + 1), [&](int64_t begin, int64_t end) {
      M::dots(m + begin * m_step, m_step, end - begin, x, length, out + begin);
    });
  };
  for (int64_t from = 0; from < n; from += kTridiagonalBlock) {
    const int64_t block = std::min(kTridiagonalBlock, n - from);
    for (int64_t k = 0; k < block; ++k) {
      const int64_t j = from + k, below = n - j - 1;
      T* column = M::template scratch<T>(5, n);  // of what is left of a, from the diagonal on
      std::copy_n(a + j * ld + j, n - j, column);
      for (int64_t i = 0; i < k; ++i)
        sums[i] = w[i * step + j], sums[kTridiagonalBlock + i] = v[i * step + j];
      subtract<M>(Product<T>{1, n - j, k, sums, 1, 1, v + j, step, column, n});
      subtract<M>(Product<T>{1, n - j, k, sums + kTridiagonalBlock, 1, 1, w + j, step, column, n});
      diagonal[j] = column[0];
      T *x = v + k * step, *y = w + k * step;
      std::fill_n(x, j + 1, T(0));
      std::fill_n(y, j + 1, T(0));
      if (below == 0) break;
      const Reflector<T> r = reflector<M>(column + 1, below);
      off_diagonal[j] = r.value, factors[j] = r.factor;
      column[1] = 1;
      std::copy_n(column + 1, below, x + j + 1);
      std::copy_n(column + 2, below - 1, a + j * ld + j + 2);  // for the vectors
      // y = factor (a - v w^T - w v^T) x, less half of its part along x.
      times(a + (j + 1) * ld + j + 1, ld, below, x + j + 1, below, y + j + 1);
      times(w + j + 1, step, k, x + j + 1, below, sums);
      times(v + j + 1, step, k, x + j + 1, below, sums + kTridiagonalBlock);
      subtract<M>(Product<T>{1, below, k, sums, 1, 1, v + j + 1, step, y + j + 1, step});
      subtract<M>(Product<T>{1, below, k, sums + kTridiagonalBlock, 1, 1, w + j + 1, step, y + j + 1, step});
      T along = 0;
      for (int64_t i = j + 1; i < n; ++i)
        y[i] *= r.factor;
      M::dots(x + j + 1, step, 1, y + j + 1, below, &along);
      const T part = T(-0.5) * r.factor * along;
      for (int64_t i = j + 1; i < n; ++i)
        y[i] += part * x[i];
    }
    const int64_t rest = from + block, left = n - rest;
    T* low = a + rest * ld + rest;
    subtract<M>(Product<T>{left, left, block, v + rest, 1, step, w + rest, step, low, ld});
    subtract<M>(Product<T>{left, left, block, w + rest, 1, step, v + rest, step, low, ld});
  }
}

// The reflections of make_tridiagonal on the rows of q [n, n].
template <class M, class T>
void reflect_vectors(const T* a, int64_t ld, int64_t n, const T* factors, T* q) {
  T *y = M::template scratch<T>(3, n * kTridiagonalBlock),
    *t = M::template scratch<T>(2, kTridiagonalBlock * kTridiagonalBlock);
  const int64_t count = n - 1;
  for (int64_t from = (count - 1) / kTridiagonalBlock * kTridiagonalBlock; count > 0 && from >= 0;
       from -= kTridiagonalBlock) {
    const BlockReflector<T> b{y, t, n - from - 1, std::min(kTridiagonalBlock, count - from)};
    for (int64_t i = 0; i < b.m; ++i)
      for (int64_t j = 0; j < b.width; ++j)
        y[i * b.width + j] = i < j ? T(0) : i == j ? T(1) : a[(from + j) * ld + from + 1 + i];
    make_t<M>(b, factors + from);
    reflect_block<M>(b, false, q + (from + 1) * n, n, n);
  }
}

// Vectors are determined up to their signs: the largest component (the first of equals) is made positive, so that the
// vectors of a matrix nearby are nearby too. The signs that columns of v [n, n] got.
template <class T>
std::vector<T> orient_columns(T* v, int64_t n) {
  std::vector<T> largest(static_cast<size_t>(n)), signs(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (std::fabs(v[i * n + j]) > std::fabs(largest[j])) largest[j] = v[i * n + j];
  for (int64_t j = 0; j < n; ++j)
    signs[j] = largest[j] < 0 ? T(-1) : T(1);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      v[i * n + j] *= signs[j];
  return signs;
}

// Without `v` the values alone.
template <class M, class T>
bool eigh_one(const T* a, T* w, T* v, int64_t n) {
  int exponent = 0;
  if (!find_scale(a, n * n, exponent)) return false;
  const int64_t ld = row_step<T>(n);
  T *m = M::template scratch<T>(1, n * ld), *numbers = M::template scratch<T>(4, 3 * n);
  T *diagonal = numbers, *off_diagonal = numbers + n, *factors = numbers + 2 * n;
  const T scale = std::ldexp(T(0.5), -exponent);
  M::transpose(a, n, n, n, m, ld);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      m[i * ld + j] = scale * a[i * n + j] + scale * m[i * ld + j];
  make_tridiagonal<M>(m, ld, n, diagonal, off_diagonal, factors);
  const std::vector<double> d(diagonal, diagonal + n), e(off_diagonal, off_diagonal + std::max<int64_t>(n - 1, 0));
  Eigen found{{}, Matrix(0, 0)};
  if (v)
    found = tridiagonal_eigen<M>(d.data(), e.data(), n, n);
  else if (found.values = d; !tridiagonal_values(found.values, e))
    return false;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(found.values[i])) return false;
    w[i] = static_cast<T>(std::ldexp(found.values[i], exponent));
  }
  if (!v) return true;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      v[j * n + i] = static_cast<T>(found.vectors.row(i)[j]);
  reflect_vectors<M>(m, ld, n, factors, v);
  orient_columns(v, n);
  return true;
}

template <class M, class T>
void eigh_in(const RoutineCall& c, const EighArgs<>& args) {
  const int64_t n = args.n;
  M::for_matrices(args.batch, 9 * n * n * n, [&](int64_t k) {
    T *w = matrix<T>(c, 1, k, n), *v = matrix<T>(c, 2, k, n * n);
    if (!eigh_one<M>(matrix<const T>(c, 0, k, n * n), w, v, n)) fill_nan(w, n), fill_nan(v, n * n);
  });
}

template <class M, class T>
void eigvalsh_in(const RoutineCall& c, const EigvalshArgs<>& args) {
  const int64_t n = args.n;
  M::for_matrices(args.batch, 2 * n * n * n, [&](int64_t k) {
    T* w = matrix<T>(c, 1, k, n);
    if (!eigh_one<M, T>(matrix<const T>(c, 0, k, n * n), w, nullptr, n)) fill_nan(w, n);
  });
}

}  // namespace sheaf::routines
