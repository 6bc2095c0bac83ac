// The loops of steps.h for one instruction set: included once per set by steps.cpp (see instruction_sets.h). What is
// left of a run behind its last whole vector is done by a vector that ends with it, so that some elements are computed
// twice.

// Single elements, for what is shorter than a vector.
template <class T>
struct Element {
  using V = T;
  static constexpr int kLanes = 1;
  static V load(const T* p) { return *p; }
  static void store(T* p, V v) { *p = v; }
  static V splat(T x) { return x; }
  static V add(V a, V b) { return a + b; }
  static V sub(V a, V b) { return a - b; }
  static V mul(V a, V b) { return a * b; }
  static V fma(V a, V b, V c) {
    if constexpr (sizeof(T) == 4)
      return __builtin_fmaf(a, b, c);
    else
      return __builtin_fma(a, b, c);
  }
};

#include "kernels/fft/shuffle_code.h"
#include "routines/fft/butterfly_code.h"

template <class S, class T>
[[gnu::always_inline]] inline Pair<S> load(ConstParts<T> x, int64_t i) {
  return {S::load(x.re + i), S::load(x.im + i)};
}
template <class S, class T>
[[gnu::always_inline]] inline void store(Parts<T> y, int64_t i, const Pair<S>& v) {
  S::store(y.re + i, v.re), S::store(y.im + i, v.im);
}

template <class S, class T>
[[gnu::always_inline]] inline Pair<S> load(const PairsIn<T>& x, int64_t i) {
  Pair<S> z;
  load_pairs<S>(x.at + 2 * i, z.re, z.im);
  if (x.swapped) std::swap(z.re, z.im);
  return z;
}

// f(i) for the beginnings of vectors that cover n elements, of which there are at least as many as lanes.
template <int kLanes, class F>
[[gnu::always_inline]] inline void for_vectors(int64_t n, F&& f) {
  for (int64_t i = 0; i < n; i += kLanes)
    f(std::min(i, n - kLanes));
}

template <class T, int r, bool of_pairs>
void row_step(const RowStep<T>& a) {
  using S = Simd<T>;
  const int64_t x_apart = a.parts * a.x_ld, y_apart = a.s * a.parts * a.y_ld;
  for (int64_t q = 0; q < a.s; ++q)
    for (int64_t p = 0; p < a.parts; ++p) {
      const int64_t at = (q * r * a.parts + p) * a.x_ld;
      const ConstParts<T> roots = a.roots + p * a.root_ld;
      const Parts<T> y = a.y + (q * a.parts + p) * a.y_ld;
      for_vectors<S::kLanes>(a.width, [&](int64_t c) __attribute__((always_inline)) {
        Pair<S> z[r];
#pragma GCC unroll 16
        for (int j = 0; j < r; ++j)
          if constexpr (of_pairs)
            z[j] = load<S>(a.pairs, at + j * x_apart + c);
          else
            z[j] = load<S>(a.x, at + j * x_apart + c);
        Butterfly<S, T, r>::apply(z);
        store<S>(y, c, z[0]);
#pragma GCC unroll 16
        for (int k = 1; k < r; ++k)
          store<S>(y, k * y_apart + c, times<S>(z[k], load<S>(roots, (k - 1) * a.roots_ld + c)));
      });
    }
}

template <class T, int r, bool of_pairs>
void column_step(const ColumnStep<T>& a) {
  using S = Simd<T>;
  const int64_t width = a.s * a.width;
  for (int64_t p = 0; p < a.m; ++p) {
    const Parts<T> y = a.y + r * p * width;
    for_vectors<S::kLanes>(width, [&](int64_t c) __attribute__((always_inline)) {
      Pair<S> z[r];
#pragma GCC unroll 16
      for (int j = 0; j < r; ++j)
        if constexpr (of_pairs)
          z[j] = load<S>(a.from, (p + a.m * j) * a.pairs_ld + c);
        else
          z[j] = load<S>(a.x, (p + a.m * j) * width + c);
      Butterfly<S, T, r>::apply(z);
      store<S>(y, c, z[0]);
#pragma GCC unroll 16
      for (int k = 1; k < r; ++k) {
        const int64_t at = (k - 1) * a.m + p;
        store<S>(y, k * width + c, times<S>(z[k], {S::splat(a.roots.re[at]), S::splat(a.roots.im[at])}));
      }
    });
  }
}

template <class T, int r, bool to_pairs>
void last_column_step(const ColumnStep<T>& a) {
  using S = Simd<T>;
  const auto scale = S::splat(a.to.scale);
  for (int64_t q = 0; q < a.s; ++q)
    for_vectors<S::kLanes>(a.width, [&](int64_t c) __attribute__((always_inline)) {
      Pair<S> z[r];
#pragma GCC unroll 16
      for (int j = 0; j < r; ++j)
        z[j] = load<S>(a.x, (j * a.s + q) * a.width + c);
      Butterfly<S, T, r>::apply(z);
#pragma GCC unroll 16
      for (int k = 0; k < r; ++k)
        if constexpr (to_pairs) {
          auto re = S::mul(z[k].re, scale), im = S::mul(z[k].im, scale);
          if (a.to.swapped) std::swap(re, im);
          store_pairs<S>(a.to.at + 2 * ((k * a.s + q) * a.pairs_ld + c), re, im);
        } else {
          store<S>(a.y, (k * a.s + q) * a.width + c, z[k]);
        }
    });
}

template <class T>
void split(const T* pairs, Parts<T> to, int64_t n) {
  using S = Simd<T>;
  if (n < S::kLanes) {
    for (int64_t i = 0; i < n; ++i)
      to.re[i] = pairs[2 * i], to.im[i] = pairs[2 * i + 1];
    return;
  }
  for_vectors<S::kLanes>(n, [&](int64_t i) __attribute__((always_inline)) {
    Pair<S> z;
    load_pairs<S>(pairs + 2 * i, z.re, z.im);
    store<S>(to, i, z);
  });
}

template <class T>
void join(ConstParts<T> x, T* pairs, int64_t n, T scale) {
  using S = Simd<T>;
  if (n < S::kLanes) {
    for (int64_t i = 0; i < n; ++i)
      pairs[2 * i] = x.re[i] * scale, pairs[2 * i + 1] = x.im[i] * scale;
    return;
  }
  const auto by = S::splat(scale);
  for_vectors<S::kLanes>(n, [&](int64_t i) __attribute__((always_inline)) {
    store_pairs<S>(pairs + 2 * i, S::mul(S::load(x.re + i), by), S::mul(S::load(x.im + i), by));
  });
}

// Rows of x become lanes: element e of all rows goes to `to(e)`.
template <class T, class To>
[[gnu::always_inline]] inline void rows_to_lanes(const T* x, int64_t x_ld, int64_t rows, int64_t count, To to) {
  using S = Simd<T>;
  auto row = [&](int64_t lane) { return x + std::min(lane, rows - 1) * x_ld; };
  if (count < S::kLanes) {
    for (int64_t e = 0; e < count; ++e)
      for (int64_t lane = 0; lane < S::kLanes; ++lane)
        to(e)[lane] = row(lane)[e];
    return;
  }
  for_vectors<S::kLanes>(count, [&](int64_t e) __attribute__((always_inline)) {
    typename S::V v[S::kLanes];
#pragma GCC unroll 16
    for (int lane = 0; lane < S::kLanes; ++lane)
      v[lane] = S::load(row(lane) + e);
    transpose<S>(v);
#pragma GCC unroll 16
    for (int i = 0; i < S::kLanes; ++i)
      S::store(to(e + i), v[i]);
  });
}
template <class T, class From>
[[gnu::always_inline]] inline void lanes_to_rows(From from, int64_t count, T* y, int64_t y_ld, int64_t rows, T scale) {
  using S = Simd<T>;
  if (count < S::kLanes) {
    for (int64_t e = 0; e < count; ++e)
      for (int64_t lane = 0; lane < rows; ++lane)
        y[lane * y_ld + e] = from(e)[lane] * scale;
    return;
  }
  const auto by = S::splat(scale);
  for_vectors<S::kLanes>(count, [&](int64_t e) __attribute__((always_inline)) {
    typename S::V v[S::kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < S::kLanes; ++i)
      v[i] = S::mul(S::load(from(e + i)), by);
    transpose<S>(v);
#pragma GCC unroll 16
    for (int lane = 0; lane < S::kLanes; ++lane)
      if (lane < rows) S::store(y + lane * y_ld + e, v[lane]);
  });
}

template <class T>
void pairs_to_lanes(const T* x, int64_t x_ld, int64_t rows, Parts<T> y, int64_t ld, int64_t n) {
  rows_to_lanes(x, x_ld, rows, 2 * n, [&](int64_t e) { return (e % 2 ? y.im : y.re) + e / 2 * ld; });
}
template <class T>
void lanes_to_pairs(ConstParts<T> x, int64_t ld, int64_t n, T* y, int64_t y_ld, int64_t rows, T scale) {
  lanes_to_rows([&](int64_t e) { return (e % 2 ? x.im : x.re) + e / 2 * ld; }, 2 * n, y, y_ld, rows, scale);
}
template <class T>
void numbers_to_lanes(const T* x, int64_t x_ld, int64_t rows, T* y, int64_t ld, int64_t n) {
  rows_to_lanes(x, x_ld, rows, n, [&](int64_t e) { return y + e * ld; });
}
template <class T>
void lanes_to_numbers(const T* x, int64_t ld, int64_t n, T* y, int64_t y_ld, int64_t rows, T scale) {
  lanes_to_rows([&](int64_t e) { return x + e * ld; }, n, y, y_ld, rows, scale);
}

template <class T>
void scale_by(const T* x, T* y, int64_t n, T scale) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes)
    S::store(y + i, S::mul(S::load(x + i), S::splat(scale)));
  for (; i < n; ++i)
    y[i] = x[i] * scale;
}

template <class T>
void multiply(ConstParts<T> a, ConstParts<T> b, Parts<T> y, int64_t n) {
  auto all = [&]<class S>(std::type_identity<S>, int64_t from) __attribute__((always_inline)) {
    int64_t i = from;
    for (; i + S::kLanes <= n; i += S::kLanes)
      store<S>(y, i, times<S>(load<S>(a, i), load<S>(b, i)));
    return i;
  };
  all(std::type_identity<Element<T>>{}, all(std::type_identity<Simd<T>>{}, 0));
}

// Elements k and half - k of the transform of reals, times `scale`, from those of z; c = scale / 2. The conjugate of
// the second.
template <class S>
[[gnu::always_inline]] inline void unfold_pair(Pair<S>& a, Pair<S>& mirror, const Pair<S>& w, typename S::V c) {
  const Pair<S> b = {mirror.re, -mirror.im}, s = plus<S>(a, b), d = minus<S>(a, b);
  const Pair<S> even = {S::mul(c, s.re), S::mul(c, s.im)}, odd = {S::mul(c, d.im), -S::mul(c, d.re)};
  const Pair<S> t = times<S>(odd, w), m = minus<S>(even, t);
  a = plus<S>(even, t), mirror = {m.re, -m.im};
}
template <class S>
[[gnu::always_inline]] inline void fold_pair(Pair<S>& a, Pair<S>& mirror, const Pair<S>& w) {
  const Pair<S> b = {mirror.re, -mirror.im}, s = plus<S>(a, b), t = times<S>(minus<S>(a, b), {w.re, -w.im});
  const Pair<S> u = {-t.im, t.re}, m = minus<S>(s, u);
  a = plus<S>(s, u), mirror = {m.re, -m.im};
}

// f<S>(k) for all k from first to below last, by vectors while the mirror images lie behind the vector.
template <class T, class F>
[[gnu::always_inline]] inline void for_mirrored(int64_t half, int64_t first, int64_t last, F&& f) {
  using S = Simd<T>;
  int64_t k = first;
  for (; k + S::kLanes <= last && 2 * (k + S::kLanes - 1) < half; k += S::kLanes)
    f(std::type_identity<S>{}, k);
  for (; k < last; ++k)
    f(std::type_identity<Element<T>>{}, k);
}

template <class T>
void unfold(ConstParts<T> z, ConstParts<T> roots, int64_t half, int64_t first, int64_t last, T scale, T* pairs) {
  for_mirrored<T>(half, first, last, [&]<class S>(std::type_identity<S>, int64_t k) __attribute__((always_inline)) {
    const int64_t from = half - k - (S::kLanes - 1);
    Pair<S> a = load<S>(z, k), b = load<S>(z, from);
    b = {reversed<S>(b.re), reversed<S>(b.im)};
    unfold_pair<S>(a, b, load<S>(roots, k), S::splat(scale * T(0.5)));
    store_pairs<S>(pairs + 2 * from, reversed<S>(b.re), reversed<S>(b.im));
    store_pairs<S>(pairs + 2 * k, a.re, a.im);
  });
}

template <class T>
void fold(const T* pairs, ConstParts<T> roots, int64_t half, int64_t first, int64_t last, Parts<T> z) {
  for_mirrored<T>(half, first, last, [&]<class S>(std::type_identity<S>, int64_t k) __attribute__((always_inline)) {
    const int64_t from = half - k - (S::kLanes - 1);
    Pair<S> a, b;
    load_pairs<S>(pairs + 2 * k, a.re, a.im), load_pairs<S>(pairs + 2 * from, b.re, b.im);
    b = {reversed<S>(b.re), reversed<S>(b.im)};
    fold_pair<S>(a, b, load<S>(roots, k));
    store<S>(z, from, {reversed<S>(b.re), reversed<S>(b.im)});
    store<S>(z, k, a);
  });
}

template <class T>
void unfold_columns(ConstParts<T> z, ConstParts<T> roots, int64_t half, int64_t width, T scale, Parts<T> y) {
  using S = Simd<T>;
  for_vectors<S::kLanes>(width, [&](int64_t c) __attribute__((always_inline)) {
    const Pair<S> first = load<S>(z, c);
    const auto by = S::splat(scale), by_half = S::splat(scale * T(0.5)), zero = S::splat(0);
    store<S>(y, c, {S::mul(S::add(first.re, first.im), by), zero});
    store<S>(y, half * width + c, {S::mul(S::sub(first.re, first.im), by), zero});
    for (int64_t k = 1; 2 * k <= half; ++k) {
      Pair<S> a = load<S>(z, k * width + c), b = load<S>(z, (half - k) * width + c);
      unfold_pair<S>(a, b, {S::splat(roots.re[k]), S::splat(roots.im[k])}, by_half);
      store<S>(y, (half - k) * width + c, b);
      store<S>(y, k * width + c, a);
    }
  });
}

template <class T>
void fold_columns(ConstParts<T> y, ConstParts<T> roots, int64_t half, int64_t width, Parts<T> z) {
  using S = Simd<T>;
  for_vectors<S::kLanes>(width, [&](int64_t c) __attribute__((always_inline)) {
    const auto first = S::load(y.re + c), last = S::load(y.re + half * width + c);
    store<S>(z, c, {S::add(first, last), S::sub(first, last)});
    for (int64_t k = 1; 2 * k <= half; ++k) {
      Pair<S> a = load<S>(ConstParts<T>(y), k * width + c), b = load<S>(ConstParts<T>(y), (half - k) * width + c);
      fold_pair<S>(a, b, {S::splat(roots.re[k]), S::splat(roots.im[k])});
      store<S>(z, (half - k) * width + c, b);
      store<S>(z, k * width + c, a);
    }
  });
}

#define SHEAF_BY_RADIX(step, T, flag)                                                         \
  {nullptr,          nullptr,           step<T, 2, flag>, step<T, 3, flag>, step<T, 4, flag>, \
   step<T, 5, flag>, nullptr,           step<T, 7, flag>, step<T, 8, flag>, nullptr,          \
   nullptr,          step<T, 11, flag>, nullptr,          step<T, 13, flag>}
template <class T>
constexpr Kernels<T> kKernels{
    .lanes = Simd<T>::kLanes,
    .row_step = SHEAF_BY_RADIX(row_step, T, false),
    .row_step_of_pairs = SHEAF_BY_RADIX(row_step, T, true),
    .column_step = SHEAF_BY_RADIX(column_step, T, false),
    .column_step_of_pairs = SHEAF_BY_RADIX(column_step, T, true),
    .last_column_step = SHEAF_BY_RADIX(last_column_step, T, false),
    .last_column_step_to_pairs = SHEAF_BY_RADIX(last_column_step, T, true),
    .split = split<T>,
    .join = join<T>,
    .pairs_to_lanes = pairs_to_lanes<T>,
    .lanes_to_pairs = lanes_to_pairs<T>,
    .numbers_to_lanes = numbers_to_lanes<T>,
    .lanes_to_numbers = lanes_to_numbers<T>,
    .scale = scale_by<T>,
    .multiply = multiply<T>,
    .unfold = unfold<T>,
    .fold = fold<T>,
    .unfold_columns = unfold_columns<T>,
    .fold_columns = fold_columns<T>,
};
#undef SHEAF_BY_RADIX
