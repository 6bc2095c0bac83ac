// Eigenvalues and vectors of symmetric matrices on steps.h: Householder's reflections to tridiagonal form, some columns
// at a time (Dongarra, Sorensen and Hammarling), then tridiagonal.h, and the reflections on its vectors.
#pragma once
#include "routines/linalg/args.h"
#include "routines/linalg/qr.h"
#include "routines/linalg/tridiagonal.h"

namespace sheaf::routines {

inline constexpr int64_t kTridiagonalBlock = 32;

// y = a x for a symmetric a, of which the upper triangle is read, in parts of about equal areas, whose number the size
// decides. `parts` is memory for kSymmetricParts times row_step(n) elements.
inline constexpr int64_t kSymmetricParts = 8;
template <class M, class T>
void symmetric_times(const T* a, int64_t ld, int64_t n, const T* x, T* y, T* memory) {
  const int64_t parts = std::clamp<int64_t>(n / 128, 1, kSymmetricParts), step = row_step<T>(n);
  auto cut = [&](int64_t part) {
    const double above = double(n) * std::sqrt(double(parts - part) / double(parts));
    return part == parts ? n : (n - static_cast<int64_t>(above)) / kSymmetricRows * kSymmetricRows;
  };
  M::for_ranges(parts, 1 + (1 << 14) * parts / (n * n), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      T* to = part == 0 ? y : memory + part * step;
      std::fill(to + cut(part), to + n, T(0));
      M::symmetric_rows(a, ld, n, cut(part), cut(part + 1), x, to);
    }
  });
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t i = cut(part); i < n; ++i)
      y[i] += memory[part * step + i];
}

// The symmetric a, of which the upper triangle is read, becomes q t q^T: reflection j is right of place j + 1 of row j,
// and acts on the places from j + 1 on.
template <class M, class T>
void make_tridiagonal(T* a, int64_t ld, int64_t n, T* diagonal, T* off_diagonal, T* factors) {
  constexpr int64_t kBlock = kTridiagonalBlock;
  const int64_t step = row_step<T>(n);
  // Reflections as rows, what they take from a, and the reflections again: a less v w^T and w v^T is one product.
  T* v = M::template scratch<T>(0, (3 * kBlock + kSymmetricParts) * step);
  T *w = v + kBlock * step, *again = w + kBlock * step, *parts = again + kBlock * step;
  T* sums = M::template scratch<T>(7, 2 * kBlock);
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t block = std::min(kBlock, n - from);
    for (int64_t k = 0; k < block; ++k) {
      const int64_t j = from + k, below = n - j - 1;
      T* column = M::template scratch<T>(5, n);  // of what is left of a, from the diagonal on
      std::copy_n(a + j * ld + j, n - j, column);
      for (int64_t i = 0; i < k; ++i)
        sums[i] = w[i * step + j], sums[kBlock + i] = v[i * step + j];
      subtract<M>(Product<T>{1, n - j, k, sums, 1, 1, v + j, step, column, n});
      subtract<M>(Product<T>{1, n - j, k, sums + kBlock, 1, 1, w + j, step, column, n});
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
      symmetric_times<M>(a + (j + 1) * ld + j + 1, ld, below, x + j + 1, y + j + 1, parts);
      M::dots(w + j + 1, step, k, x + j + 1, below, sums);
      M::dots(v + j + 1, step, k, x + j + 1, below, sums + kBlock);
      subtract<M>(Product<T>{1, below, k, sums, 1, 1, v + j + 1, step, y + j + 1, step});
      subtract<M>(Product<T>{1, below, k, sums + kBlock, 1, 1, w + j + 1, step, y + j + 1, step});
      T along = 0;
      for (int64_t i = j + 1; i < n; ++i)
        y[i] *= r.factor;
      M::dots(x + j + 1, step, 1, y + j + 1, below, &along);
      const T part = T(-0.5) * r.factor * along;
      for (int64_t i = j + 1; i < n; ++i)
        y[i] += part * x[i];
    }
    const int64_t rest = from + block, left = n - rest;
    if (left == 0) break;
    std::copy_n(v, kBlock * step, again);
    subtract<M>(Product<T>{left, left, 2 * kBlock, v + rest, 1, step, w + rest, step, a + rest * ld + rest, ld},
                Part::Upper);
  }
}

// The reflections of make_tridiagonal on the rows of q [n, n].
template <class M, class T>
void reflect_vectors(const T* a, int64_t ld, int64_t n, const T* factors, T* q) {
  const int64_t many = many_reflections(n), count = n - 1;
  T *y = M::template scratch<T>(3, n * many), *t = M::template scratch<T>(2, many * many);
  for (int64_t from = (count - 1) / many * many; count > 0 && from >= 0; from -= many) {
    const BlockReflector<T> b{y, t, n - from - 1, std::min(many, count - from)};
    M::transpose(a + from * ld + from + 1, ld, b.width, b.m, y, b.width);
    for (int64_t i = 0; i < b.width; ++i) {
      y[i * b.width + i] = 1;
      std::fill_n(y + i * b.width + i + 1, b.width - i - 1, T(0));
    }
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
  std::vector<double> values(diagonal, diagonal + n), next(off_diagonal, off_diagonal + std::max<int64_t>(n - 1, 0));
  if (v) {
    const TridiagonalEigen<M, T> found(std::move(values), std::move(next));
    values = found.values();
    M::transpose(found.vectors().data, found.vectors().step, n, n, v, n);
  } else if (!tridiagonal_values(values, next)) {
    return false;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(values[i])) return false;
    w[i] = static_cast<T>(std::ldexp(values[i], exponent));
  }
  if (!v) return true;
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
