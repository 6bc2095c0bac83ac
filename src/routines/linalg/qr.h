// QR by Householder's reflections on steps.h. Some columns at a time are reflected one by one; the columns to the right
// of them, and later those of q, by all of these reflections at once, in the form I - Y T Y^T (Schreiber and Van Loan).
#pragma once
#include <cmath>
#include <limits>

#include "routines/linalg/args.h"
#include "routines/linalg/matrix.h"
#include "routines/linalg/steps.h"

namespace sheaf::routines {

// I - factor v v^T with v[0] = 1, which takes a vector x to (value, 0, …).
template <class T>
struct Reflector {
  T factor, value;
};
// Leaves v[1 … n) in x.
template <class M, class T>
Reflector<T> reflector(T* x, int64_t n) {
  T below = 0;
  if (n > 1) M::dots(x + 1, n, 1, x + 1, n - 1, &below);
  // Squares that are no normal numbers have lost digits.
  constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  if (n > 1 && !(x[0] * x[0] + below >= kLeast)) {
    T most = 0;
    for (int64_t i = 0; i < n; ++i)
      most = std::max(most, std::fabs(x[i]));
    if (most == 0) return {0, x[0]};
    int exponent = 0;
    std::frexp(most, &exponent);
    for (int64_t i = 0; i < n; ++i)
      x[i] = std::ldexp(x[i], -exponent);
    Reflector<T> r = reflector<M>(x, n);
    r.value = std::ldexp(r.value, exponent);
    return r;
  }
  if (below == 0) return {0, x[0]};
  const T size = std::sqrt(x[0] * x[0] + below), value = x[0] < 0 ? size : -size;
  const Reflector<T> r{(value - x[0]) / value, value};
  M::divide(x + 1, n - 1, x[0] - value);
  return r;
}

// `width` reflections of vectors of m elements: y [m, width], with zeros above their ones, and t.
template <class T>
struct BlockReflector {
  T *y, *t;
  int64_t m, width;
};

// The upper triangle t of w reflections with these factors, rows `step` apart, from the products s of the reflections.
// That of two groups of reflections has -t1 s t2 next to the triangles of each. `memory` is for step / 2 rows.
template <class M, class T>
void join_t(T* t, const T* s, int64_t step, int64_t w, const T* factors, T* memory) {
  constexpr int64_t kFew = 16;
  if (w > kFew) {
    const int64_t h = half(w), rest = w - h;
    join_t<M>(t, s, step, h, factors, memory);
    join_t<M>(t + h * (step + 1), s + h * (step + 1), step, rest, factors + h, memory);
    std::fill_n(memory, h * step, T(0));
    M::add_product(Product<T>{h, rest, rest, s + h, step, 1, t + h * (step + 1), step, memory, step}, T(1));
    return subtract<M>(Product<T>{h, rest, h, t, step, 1, memory, step, t + h, step});
  }
  for (int64_t j = 0; j < w; ++j) {
    t[j * step + j] = factors[j];
    for (int64_t i = 0; i < j; ++i) {
      T sum = 0;
      for (int64_t l = i; l < j; ++l)
        sum += t[i * step + l] * s[l * step + j];
      t[i * step + j] = -factors[j] * sum;
    }
  }
}

// The upper triangular t of reflections with these factors.
template <class M, class T>
void make_t(const BlockReflector<T>& b, const T* factors) {
  const int64_t w = b.width;
  T* s = M::template scratch<T>(5, 2 * w * w);
  std::fill_n(s, w * w, T(0));
  M::add_product(Product<T>{w, w, b.m, b.y, 1, w, b.y, w, s, w}, T(1), Part::Upper);
  std::fill_n(b.t, w * w, T(0));
  join_t<M>(b.t, s, w, w, factors, s + w * w);
}

// c [m, n] -= y t y^T c, or with t^T: the reflections from last to first, or from first to last.
template <class M, class T>
void reflect_block(const BlockReflector<T>& b, bool first_to_last, T* c, int64_t ldc, int64_t n) {
  if (n <= 0) return;
  const int64_t w = b.width, ld = row_step<T>(n);
  T *once = M::template scratch<T>(6, 2 * w * ld), *twice = once + w * ld;
  std::fill_n(once, 2 * w * ld, T(0));
  M::add_product(Product<T>{w, n, b.m, b.y, 1, w, c, ldc, once, ld}, T(1));
  M::add_product(Product<T>{w, n, w, b.t, first_to_last ? 1 : w, first_to_last ? w : 1, once, ld, twice, ld}, T(1));
  subtract<M>(Product<T>{b.m, n, w, b.y, w, 1, twice, ld, c, ldc});
}

// y of the reflections that are below the diagonal of columns [0, width) of a.
template <class T>
void read_reflections(const T* a, int64_t ld, const BlockReflector<T>& b) {
  for (int64_t i = 0; i < b.m; ++i)
    std::copy_n(a + i * ld, b.width, b.y + i * b.width);
  for (int64_t i = 0; i < b.width; ++i) {
    b.y[i * b.width + i] = 1;
    std::fill_n(b.y + i * b.width + i + 1, b.width - i - 1, T(0));
  }
}

// Reflects columns [0, width) of a [m, …] one by one: r on and above the diagonal, the reflections below it.
template <class M, class T>
void reflect_columns(T* a, int64_t ld, int64_t m, int64_t width, T* factors) {
  const int64_t step = row_step<T>(m);
  T *p = M::template scratch<T>(0, width * step), *sums = M::template scratch<T>(7, width);
  M::transpose(a, ld, m, width, p, step);
  for (int64_t j = 0; j < width; ++j) {
    T* x = p + j * step + j;
    const Reflector<T> r = reflector<M>(x, m - j);
    factors[j] = r.factor;
    x[0] = 1;
    M::for_ranges(width - j - 1, 1 + (1 << 15) / (m - j), [&](int64_t begin, int64_t end) {
      T *rest = x + (1 + begin) * step, *sum = sums + begin;
      M::dots(rest, step, end - begin, x, m - j, sum);
      for (int64_t i = 0; i < end - begin; ++i)
        sum[i] *= r.factor;
      subtract<M>(Product<T>{end - begin, m - j, 1, sum, 1, 1, x, step, rest, step});
    });
    x[0] = r.value;
  }
  M::transpose(p, step, width, m, a, ld);
}

// Columns that are reflected together, by the number there are: first in few columns, then these together on others,
// so that the others are gone through less often.
constexpr int64_t few_reflections(int64_t n) { return n <= 64 ? 16 : 32; }
constexpr int64_t many_reflections(int64_t n) { return n <= 64 ? 16 : n <= 192 ? 32 : n <= 384 ? 64 : 128; }

// a [m, n], m >= n, contiguous, becomes q, or anything if that is not wanted, and r is written. False: not all of a is
// finite.
template <class M, class T>
bool qr_in_place(T* a, T* r, int64_t m, int64_t n, bool wants_q = true) {
  int exponent = 0;
  if (!find_scale(a, m * n, exponent)) return false;
  const T scale = std::ldexp(T(1), -exponent), back = std::ldexp(T(1), exponent);
  for (int64_t i = 0; i < m * n; ++i)
    a[i] *= scale;
  const int64_t few = few_reflections(n), many = many_reflections(n);
  T *factors = M::template scratch<T>(1, n), *ts = M::template scratch<T>(2, n * many + few * few),
    *y = M::template scratch<T>(3, m * many);
  auto block = [&](int64_t j) { return BlockReflector<T>{y, ts + j * many, m - j, std::min(many, n - j)}; };
  // The reflections of columns from j on, on those from `to` to `end`.
  auto reflect = [&](const BlockReflector<T>& b, int64_t j, int64_t to, int64_t end) {
    read_reflections(a + j * n + j, n, b);
    make_t<M>(b, factors + j);
    reflect_block<M>(b, true, a + j * n + to, n, end - to);
  };
  for (int64_t j = 0; j < n; j += many) {
    const BlockReflector<T> b = block(j);
    const int64_t end = j + b.width;
    for (int64_t at = j; at < end; at += few) {
      const BlockReflector<T> part{y, ts + n * many, m - at, std::min(few, end - at)};
      reflect_columns<M>(a + at * n + at, n, part.m, part.width, factors + at);
      if (at + part.width < end) reflect(part, at, at + part.width, end);
    }
    if (end < n || wants_q) reflect(b, j, end, n);
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      r[i * n + j] = j < i ? T(0) : back * a[i * n + j];
  if (!wants_q) return true;
  // From the last block: what is left of its columns and above its rows is not made yet.
  for (int64_t j = (n - 1) / many * many; j >= 0; j -= many) {
    const BlockReflector<T> b = block(j);
    T* from = a + j * n + j;
    read_reflections(from, n, b);
    for (int64_t i = 0; i < b.m; ++i)
      std::fill_n(from + i * n, i < b.width ? n - j : b.width, T(0));
    for (int64_t i = 0; i < b.width; ++i)
      from[i * n + i] = 1;
    reflect_block<M>(b, false, from, n, n - j);
  }
  return true;
}

template <class M, class T>
void qr_in(const RoutineCall& c, const QrArgs<>& args) {
  const int64_t m = args.m, n = args.n;
  M::for_matrices(args.batch, 4 * m * n * n, [&](int64_t k) {
    T *q = matrix<T>(c, 1, k, m * n), *r = matrix<T>(c, 2, k, n * n);
    std::copy_n(matrix<const T>(c, 0, k, m * n), m * n, q);
    if (n > 0 && !qr_in_place<M>(q, r, m, n)) fill_nan(q, m * n), fill_nan(r, n * n);
  });
}

}  // namespace sheaf::routines
