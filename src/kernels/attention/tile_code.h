// The inner loops of attention for one instruction set: included once per set by parts.cpp (see instruction_sets.h).
// Scores are stored transposed, [column][row], with adjacent rows in the lanes of a vector: then the maximum and the
// sum over a row are elementwise vector operations, and only the rows of q have to be packed.

// Rows of a tile with two vectors of columns: 16 accumulators if there are 32 registers, 8 if there are 16.
template <class T>
constexpr int kTile = Simd<T>::kTileRows * Simd<T>::kTileVectors > 16 ? 8 : 4;

template <class T, int kRows, int kVectors>
inline void rows_tile(int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out, int64_t ldo, bool add) {
  using S = Simd<T>;
  typename S::V acc[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      acc[i][v] = add ? S::load(out + i * ldo + v * S::kLanes) : S::zero();
  int64_t l = 0;
  for (; l + S::kDepth <= depth; l += S::kDepth)
    S::multiply_rows(acc, a + l, lda, b + l * ldb, ldb);
  if constexpr (S::kDepth > 1)
    for (; l < depth; ++l)
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          acc[i][v] = S::fma(S::splat(a[i * lda + l]), S::load(b + l * ldb + v * S::kLanes), acc[i][v]);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      S::store(out + i * ldo + v * S::kLanes, acc[i][v]);
}

template <class T, int kVectors>
inline void rows_strip(int64_t n, int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out, int64_t ldo,
                       bool add) {
  constexpr int kLine = 64 / sizeof(T);
  int64_t i = 0;
  auto tile = [&]<int rows>(std::integral_constant<int, rows>) __attribute__((always_inline)) {
    rows_tile<T, rows, kVectors>(depth, a + i * lda, lda, b, ldb, out + i * ldo, ldo, add);
    i += rows;
  };
  while (i + kTile<T> <= n) {
    // Tiles with one vector of rows finish quickly, so prefetch the next rows of k.
    if (kVectors == 1)
      for (const T* ask = a + (i + kTile<T>)*lda; ask < a + (i + 2 * kTile<T>)*lda; ask += kLine)
        __builtin_prefetch(ask);
    tile(std::integral_constant<int, kTile<T>>{});
  }
  while (i + 2 <= n)
    tile(std::integral_constant<int, 2>{});
  if (i < n) tile(std::integral_constant<int, 1>{});
}

// out[i][c] = (add ? out[i][c] : 0) + a[i][0] b[0][c] + a[i][1] b[1][c] + …: i < n, c < width, a multiple of the lanes.
template <class T>
void rows_times(int64_t n, int64_t width, int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out,
                int64_t ldo, bool add) {
  constexpr int64_t kLanes = Simd<T>::kLanes;
  int64_t c = 0;
  for (; c + 2 * kLanes <= width; c += 2 * kLanes)
    rows_strip<T, 2>(n, depth, a, lda, b + c, ldb, out + c, ldo, add);
  if (c < width) rows_strip<T, 1>(n, depth, a, lda, b + c, ldb, out + c, ldo, add);
}

template <class T, int kRows, int kVectors>
inline void columns_tile(int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out, int64_t ldo,
                         Start start, const T* factor) {
  using S = Simd<T>;
  typename S::V acc[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      acc[i][v] = start == Start::Zero ? S::zero() : S::load(out + i * ldo + v * S::kLanes);
      if (start == Start::Scaled) acc[i][v] = S::mul(acc[i][v], S::splat(factor[i]));
    }
  for (int64_t l = 0; l < depth; ++l, a += lda, b += ldb) {
    typename S::V y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      y[v] = S::load(b + v * S::kLanes);
    S::template multiply<kRows, kVectors>(acc, a, y);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      S::store(out + i * ldo + v * S::kLanes, acc[i][v]);
}

// out[i][c] = 0, out[i][c], or out[i][c] factor[i], + a[0][i] b[0][c] + a[1][i] b[1][c] + …: i < n, c < width.
// Computes, and writes, up to whole vectors of rows.
template <class T>
void columns_times(int64_t n, int64_t width, int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out,
                   int64_t ldo, Start start, const T* factor) {
  constexpr int64_t kLanes = Simd<T>::kLanes;
  constexpr int kShort = kLanes < kTile<T> ? kLanes : kTile<T>;
  auto strip = [&]<int vectors>(std::integral_constant<int, vectors>, int64_t c) __attribute__((always_inline)) {
    int64_t i = 0;
    auto tile = [&]<int rows>(std::integral_constant<int, rows>) __attribute__((always_inline)) {
      columns_tile<T, rows, vectors>(depth, a + i, lda, b + c, ldb, out + i * ldo + c, ldo, start,
                                     start == Start::Scaled ? factor + i : nullptr);
      i += rows;
    };
    while (i + kTile<T> <= n)
      tile(std::integral_constant<int, kTile<T>>{});
    if (n - i == 1) return tile(std::integral_constant<int, 1>{});
    while (i < n)
      tile(std::integral_constant<int, kShort>{});
  };
  int64_t c = 0;
  for (; c + 2 * kLanes <= width; c += 2 * kLanes)
    strip(std::integral_constant<int, 2>{}, c);
  if (c < width) strip(std::integral_constant<int, 1>{}, c);
}

// scalar::math::decay; repeated here because functions defined elsewhere are not compiled for this instruction set.
template <class T>
inline typename Simd<T>::V decay(typename Simd<T>::V x) {
  using S = Simd<T>;
  using C = scalar::math::detail::ExpConstants<T>;
  constexpr int kTerms = std::size(C::kTail);
  auto magic = S::splat(scalar::math::FloatFormat<T>::kRoundToInt);
  auto shifted = S::fma(x, S::splat(C::kLog2E), magic), n = S::sub(shifted, magic);
  auto r = S::fma(n, S::splat(-C::kLn2Lo), S::fma(n, S::splat(-C::kLn2Hi), x));
  auto e = S::splat(C::kTail[kTerms - 1]);
#pragma GCC unroll 16
  for (int i = kTerms - 2; i >= 0; --i)
    e = S::fma(e, r, S::splat(C::kTail[i]));
  for (int i = 0; i < 2; ++i)
    e = S::fma(e, r, S::splat(T(1)));
  return S::if_less(x, S::splat(C::kZeroBelow), S::zero(), S::mul(e, S::pow2(shifted)));
}

// The value to subtract from scores whose maximum is m.
template <class T>
inline typename Simd<T>::V reference_point(typename Simd<T>::V m) {
  using S = Simd<T>;
  return S::if_less(m, S::splat(std::numeric_limits<T>::lowest()), S::zero(), m);
}

// Turns a block of scores s[n][ld] (n columns) into weights for rows < width, and updates m and l. `factor`, by row:
// the factor for the previous sums; in the first block there are none.
template <class T>
void weigh(int64_t n, T* s, int64_t ld, int64_t width, bool first, T* m, T* l, T* factor) {
  using S = Simd<T>;
  auto vectors = [&]<int kVectors>(std::integral_constant<int, kVectors>, int64_t at) __attribute__((always_inline)) {
    typename S::V most[kVectors], sum[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      most[v] = first ? S::splat(-std::numeric_limits<T>::infinity()) : S::load(m + at + v * S::kLanes);
    for (int64_t j = 0; j < n; ++j)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        most[v] = S::max(S::load(s + j * ld + at + v * S::kLanes), most[v]);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      int64_t lane = at + v * S::kLanes;
      auto point = reference_point<T>(most[v]);
      sum[v] = S::zero();
      if (!first) {
        auto c = decay<T>(S::sub(S::load(m + lane), point));
        S::store(factor + lane, c);
        sum[v] = S::mul(S::load(l + lane), c);
      }
      S::store(m + lane, most[v]);
      most[v] = point;
    }
    for (int64_t j = 0; j < n; ++j)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        T* p = s + j * ld + at + v * S::kLanes;
        auto weight = decay<T>(S::sub(S::load(p), most[v]));
        S::store(p, weight);
        sum[v] = S::add(sum[v], weight);
      }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      S::store(l + at + v * S::kLanes, sum[v]);
  };
  int64_t at = 0;
  for (; at + 2 * S::kLanes <= width; at += 2 * S::kLanes)
    vectors(std::integral_constant<int, 2>{}, at);
  if (at < width) vectors(std::integral_constant<int, 1>{}, at);
}

// Merges the sums of rows over two segments of columns: m and l become those of both; `first` and `second` receive the
// factors of the two parts.
template <class T>
void join(int64_t n, T* m, T* l, const T* m2, const T* l2, T* first, T* second) {
  using S = Simd<T>;
  for (int64_t i = 0; i < n; i += S::kLanes) {
    auto m1 = S::load(m + i), most = S::max(S::load(m2 + i), m1), point = reference_point<T>(most);
    auto a = decay<T>(S::sub(m1, point)), b = decay<T>(S::sub(S::load(m2 + i), point));
    S::store(l + i, S::fma(S::load(l2 + i), b, S::mul(S::load(l + i), a)));
    S::store(m + i, most);
    S::store(first + i, a);
    S::store(second + i, b);
  }
}

// Turns scores s[n][ld] into weights, and dp into the adjoints of the scores, for rows < width.
template <class T>
void reverse(int64_t n, T* s, T* dp, int64_t ld, int64_t width, const T* lse, const T* delta) {
  using S = Simd<T>;
  for (int64_t at = 0; at < width; at += S::kLanes) {
    auto most = S::load(lse + at), d = S::load(delta + at);
    for (int64_t j = 0; j < n; ++j) {
      T *p = s + j * ld + at, *q = dp + j * ld + at;
      auto weight = decay<T>(S::sub(S::load(p), most));
      S::store(p, weight);
      S::store(q, S::mul(weight, S::sub(S::load(q), d)));
    }
  }
}

// RowCopies (parts.h).
template <class T, class E>
void transpose_rows(int64_t n, int64_t width, const E* from, int64_t row, T factor, T* to, int64_t ld) {
  using S = Simd<T>;
  int64_t whole = 0, wide = 0;  // the part that is transposed in registers
  if constexpr (requires(typename S::V(&y)[S::kLanes]) { S::transpose(y); }) {
    whole = n / S::kLanes * S::kLanes, wide = width / S::kLanes * S::kLanes;
    typename S::V y[S::kLanes], by = S::splat(factor);
    for (int64_t e = 0; e < wide; e += S::kLanes)
      for (int64_t i = 0; i < whole; i += S::kLanes) {
#pragma GCC unroll 16
        for (int l = 0; l < S::kLanes; ++l)
          y[l] = S::mul(S::load(from + (i + l) * row + e), by);
        S::transpose(y);
#pragma GCC unroll 16
        for (int l = 0; l < S::kLanes; ++l)
          S::store(to + (e + l) * ld + i, y[l]);
      }
  }
  for (int64_t e = whole == ld ? wide : 0; e < width; ++e)
    for (int64_t i = e < wide ? whole : 0; i < ld; ++i)
      to[e * ld + i] = i < n ? convert<T>(from[i * row + e]) * factor : T(0);
}

template <class T, class E>
void widen_rows(int64_t n, int64_t width, const E* from, int64_t row, T* to, int64_t padded) {
  using S = Simd<T>;
  for (int64_t i = 0; i < n; ++i, from += row, to += padded) {
    int64_t e = 0;
    for (; e + S::kLanes <= width; e += S::kLanes)
      S::store(to + e, S::load(from + e));
    for (; e < width; ++e)
      to[e] = convert<T>(from[e]);
    for (; e < padded; ++e)
      to[e] = T(0);
  }
}

template <class T>
constexpr ByElement<T, RowCopies> row_copies() {
  return by_element<T, RowCopies>(
      []<class E>() -> RowCopies<T, E> { return {transpose_rows<T, E>, widen_rows<T, E>}; });
}

// Stores `value` to s[j][i], j < n, i < width, unless row i sees column j: first[i] <= j < last[i]. All rows see the
// columns [seen, unseen).
template <class T>
void hide(int64_t n, int64_t width, const T* first, const T* last, int64_t seen, int64_t unseen, T value, T* s,
          int64_t ld) {
  using S = Simd<T>;
  auto fill = S::splat(value);
  auto columns = [&](int64_t from, int64_t to) __attribute__((always_inline)) {
    for (int64_t j = from; j < to; ++j) {
      auto column = S::splat(static_cast<T>(j));
      for (int64_t i = 0; i < width; i += S::kLanes) {
        T* p = s + j * ld + i;
        S::store(p,
                 S::if_less(column, S::load(first + i), fill, S::if_less(column, S::load(last + i), S::load(p), fill)));
      }
    }
  };
  columns(0, std::min(n, seen));
  columns(std::max(seen, unseen), n);
}

// to[i][e] = factor[i step] from[i][e] for i < n, e < width.
template <class T>
void scale_rows(int64_t n, int64_t width, const T* from, int64_t ld, const T* factor, int64_t step, T* to,
                int64_t ldo) {
  using S = Simd<T>;
  for (int64_t i = 0; i < n; ++i, from += ld, to += ldo) {
    T by = factor[i * step];
    int64_t e = 0;
    for (auto f = S::splat(by); e + S::kLanes <= width; e += S::kLanes)
      S::store(to + e, S::mul(S::load(from + e), f));
    for (; e < width; ++e)
      to[e] = from[e] * by;
  }
}

// lse = m + log(l) and inverse = 1 / l, up to whole vectors of 16 bytes.
template <class T>
__attribute__((flatten)) void conclude(int64_t n, const T* m, const T* l, T* lse, T* inverse) {
  using B = VectorBuilder<T>;
  using Scalar = scalar::math::Scalar<B, T>;
  B b;
  for (int64_t i = 0; i < n; i += B::kLanes) {
    typename B::template Vec<T> most, sum;
    std::memcpy(&most, m + i, sizeof most);
    std::memcpy(&sum, l + i, sizeof sum);
    Scalar s(b, sum);
    auto y = (Scalar(b, most) + scalar::math::log(s)).v, z = (T(1) / s).v;
    std::memcpy(lse + i, &y, sizeof y);
    std::memcpy(inverse + i, &z, sizeof z);
  }
}

#include "kernels/attention/row_code.h"

template <class T>
constexpr Kernels<T> kKernels{Simd<T>::kLanes, rows_times<T>, columns_times<T>, weigh<T>,    join<T>,       reverse<T>,
                              row_copies<T>(), hide<T>,       scale_rows<T>,    conclude<T>, row_alone<T>()};
