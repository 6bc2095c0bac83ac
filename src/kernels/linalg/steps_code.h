// The steps of routines/linalg/steps.h for one instruction set (simd.h): included once per set.

// Rows and vectors of columns of a tile that stays in registers with a row of b.
constexpr int64_t kRows = 4;
template <class T>
constexpr int kVectors = Simd<T>::kLanes * sizeof(T) == 32 ? 2 : 4;

// `rows` rows by one tile's columns, of one block of k.
template <class T, int kHigh, int kWide>
inline void product_tile(int64_t k, const T* a, int64_t a_row, int64_t a_column, T sign, const T* b, int64_t ldb, T* c,
                         int64_t ldc) {
  using S = Simd<T>;
  typename S::V acc[kHigh][kWide];
#pragma GCC unroll 16
  for (int i = 0; i < kHigh; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kWide; ++v)
      acc[i][v] = S::zero();
  for (int64_t l = 0; l < k; ++l, a += a_column, b += ldb) {
    typename S::V y[kWide];
#pragma GCC unroll 16
    for (int v = 0; v < kWide; ++v)
      y[v] = S::load(b + v * S::kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kHigh; ++i) {
      const typename S::V x = S::splat(sign * a[i * a_row]);
#pragma GCC unroll 16
      for (int v = 0; v < kWide; ++v)
        acc[i][v] = S::fma(x, y[v], acc[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kHigh; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kWide; ++v) {
      T* to = c + i * ldc + v * S::kLanes;
      S::store(to, S::add(S::add(S::load(to), acc[i][v]), S::zero()));
    }
}

// Fewer elements than a vector has, the first `n`; the others are zeros.
template <class T>
inline typename Simd<T>::V load_part(const T* p, int64_t n) {
  if constexpr (requires { Simd<T>::load_part(p, n); }) {
    return Simd<T>::load_part(p, n);
  } else {
    T all[Simd<T>::kLanes] = {};
    for (int64_t i = 0; i < n; ++i)
      all[i] = p[i];
    return Simd<T>::load(all);
  }
}
template <class T>
inline void store_part(T* p, typename Simd<T>::V v, int64_t n) {
  if constexpr (requires { Simd<T>::store_part(p, v, n); }) {
    Simd<T>::store_part(p, v, n);
  } else {
    T all[Simd<T>::kLanes];
    Simd<T>::store(all, v);
    for (int64_t i = 0; i < n; ++i)
      p[i] = all[i];
  }
}

// The same for fewer columns than a vector has.
template <class T, int kHigh>
inline void product_edge(int64_t k, const T* a, int64_t a_row, int64_t a_column, T sign, const T* b, int64_t ldb, T* c,
                         int64_t ldc, int64_t columns) {
  using S = Simd<T>;
  typename S::V acc[kHigh];
#pragma GCC unroll 16
  for (int i = 0; i < kHigh; ++i)
    acc[i] = S::zero();
  for (int64_t l = 0; l < k; ++l, a += a_column, b += ldb) {
    const typename S::V y = load_part(b, columns);
#pragma GCC unroll 16
    for (int i = 0; i < kHigh; ++i)
      acc[i] = S::fma(S::splat(sign * a[i * a_row]), y, acc[i]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kHigh; ++i)
    store_part(c + i * ldc, S::add(S::add(load_part(c + i * ldc, columns), acc[i]), S::zero()), columns);
}

template <class T, int kHigh>
inline void product_rows(const Product<T>& p, T sign, int64_t row, int64_t from) {
  constexpr int64_t kLanes = Simd<T>::kLanes, kTile = kVectors<T> * kLanes;
  const T* a = p.a + row * p.a_row;
  T* c = p.c + row * p.ldc;
  int64_t j = from;
  for (; j + kTile <= p.n; j += kTile)
    product_tile<T, kHigh, kVectors<T>>(p.k, a, p.a_row, p.a_column, sign, p.b + j, p.ldb, c + j, p.ldc);
  for (; j + kLanes <= p.n; j += kLanes)
    product_tile<T, kHigh, 1>(p.k, a, p.a_row, p.a_column, sign, p.b + j, p.ldb, c + j, p.ldc);
  if (j < p.n) product_edge<T, kHigh>(p.k, a, p.a_row, p.a_column, sign, p.b + j, p.ldb, c + j, p.ldc, p.n - j);
}

// Operands where they are, of at most one block of k.
template <class T>
void product_in_place(const Product<T>& p, T sign, bool upper) {
  int64_t i = 0;
  for (; i + kRows <= p.m; i += kRows)
    product_rows<T, kRows>(p, sign, i, upper ? i : 0);
  for (; i < p.m; ++i)
    product_rows<T, 1>(p, sign, i, upper ? i : 0);
}

// total_of, by vectors down to four sums.
template <class T, int kSums>
inline std::conditional_t<std::is_same_v<T, double>, Doubles, Floats> four_totals(const T* sums) {
  using Four = std::conditional_t<std::is_same_v<T, double>, Doubles, Floats>;
  Four x[kSums / 4];
  std::memcpy(x, sums, sizeof x);
#pragma GCC unroll 4
  for (int h = kSums / 8; h > 0; h /= 2)
#pragma GCC unroll 4
    for (int i = 0; i < h; ++i)
      x[i] += x[i + h];
  return x[0];
}
template <class Four>
inline auto total_of_four(Four x) {
  return (x[0] + x[2]) + (x[1] + x[3]);
}

// `kTogether` rows of x.
template <class T, int kTogether>
inline void dot_rows(const T* x, int64_t ldx, const T* y, int64_t n, T* out) {
  using S = Simd<T>;
  constexpr int64_t kLanes = S::kLanes, kVectors = kDotSums / kLanes;
  typename S::V acc[kTogether][kVectors];
#pragma GCC unroll 32
  for (int i = 0; i < kTogether; ++i)
#pragma GCC unroll 32
    for (int64_t v = 0; v < kVectors; ++v)
      acc[i][v] = S::zero();
  int64_t l = 0;
  for (; l + kDotSums <= n; l += kDotSums)
#pragma GCC unroll 32
    for (int64_t v = 0; v < kVectors; ++v) {
      const typename S::V factor = S::load(y + l + v * kLanes);
#pragma GCC unroll 32
      for (int i = 0; i < kTogether; ++i)
        acc[i][v] = S::fma(S::load(x + i * ldx + l + v * kLanes), factor, acc[i][v]);
    }
  // What is left adds nothing to sums for which there is no element.
#pragma GCC unroll 32
  for (int64_t v = 0; v < kVectors; ++v)
    if (const int64_t left = std::min(kLanes, n - l - v * kLanes); left > 0) {
      auto take = [&](const T* from) { return left == kLanes ? S::load(from) : load_part(from, left); };
      const typename S::V factor = take(y + l + v * kLanes);
#pragma GCC unroll 32
      for (int i = 0; i < kTogether; ++i)
        acc[i][v] = S::fma(take(x + i * ldx + l + v * kLanes), factor, acc[i][v]);
    }
#pragma GCC unroll 32
  for (int i = 0; i < kTogether; ++i) {
    T sums[kDotSums];
#pragma GCC unroll 32
    for (int64_t v = 0; v < kVectors; ++v)
      S::store(sums + v * kLanes, acc[i][v]);
    out[i] = total_of_four(four_totals<T, kDotSums>(sums));
  }
}

template <class T>
void dots(const T* x, int64_t ldx, int64_t rows, const T* y, int64_t n, T* out) {
  // As many as there are registers for.
  constexpr int64_t kLanes = Simd<T>::kLanes, kVectors = kDotSums / kLanes;
  constexpr int64_t kTogether = std::clamp<int64_t>((kLanes * sizeof(T) == 32 ? 8 : 16) / kVectors, 1, 4);
  int64_t i = 0;
  for (; i + kTogether <= rows; i += kTogether)
    dot_rows<T, kTogether>(x + i * ldx, ldx, y, n, out + i);
  for (; i < rows; ++i)
    dot_rows<T, 1>(x + i * ldx, ldx, y, n, out + i);
}

template <class T, int kHigh>
inline void symmetric_group(const T* a, int64_t ld, int64_t n, int64_t first, const T* x, T* y) {
  using S = Simd<T>;
  constexpr int64_t kLanes = S::kLanes;
  constexpr int kSums = kSymmetricSums<T>, kVectors = kSums / kLanes;
  const T* rows = a + first * ld;
#pragma GCC unroll 4
  for (int i = 0; i < kHigh; ++i) {
    const T* row = rows + i * ld + first;
    y[first + i] = fused(row[i], x[first + i], y[first + i]);
    for (int l = i + 1; l < kHigh; ++l) {
      y[first + i] = fused(row[l], x[first + l], y[first + i]);
      y[first + l] = fused(row[l], x[first + i], y[first + l]);
    }
  }
  typename S::V acc[kHigh][kVectors], factors[kHigh];
#pragma GCC unroll 4
  for (int i = 0; i < kHigh; ++i) {
    factors[i] = S::splat(x[first + i]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      acc[i][v] = S::zero();
  }
  int64_t l = first + kHigh;
  for (; l + kSums <= n; l += kSums)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = l + v * kLanes;
      const typename S::V here = S::load(x + at);
      typename S::V to = S::load(y + at);
#pragma GCC unroll 4
      for (int i = 0; i < kHigh; ++i) {
        const typename S::V row = S::load(rows + i * ld + at);
        acc[i][v] = S::fma(row, here, acc[i][v]);
        to = S::fma(row, factors[i], to);
      }
      S::store(y + at, to);
    }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v)
    if (const int64_t at = l + v * kLanes, left = std::min(kLanes, n - at); left > 0) {
      auto take = [&](const T* from) { return left == kLanes ? S::load(from) : load_part(from, left); };
      const typename S::V here = take(x + at);
      typename S::V to = take(y + at);
#pragma GCC unroll 4
      for (int i = 0; i < kHigh; ++i) {
        const typename S::V row = take(rows + i * ld + at);
        acc[i][v] = S::fma(row, here, acc[i][v]);
        to = S::fma(row, factors[i], to);
      }
      left == kLanes ? S::store(y + at, to) : store_part(y + at, to, left);
    }
#pragma GCC unroll 4
  for (int i = 0; i < kHigh; ++i) {
    T sums[kSums];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      S::store(sums + v * kLanes, acc[i][v]);
    y[first + i] += total_of_four(four_totals<T, kSums>(sums));
  }
}

template <class T>
void symmetric_rows(const T* a, int64_t ld, int64_t n, int64_t begin, int64_t end, const T* x, T* y) {
  static_assert(kSymmetricRows == 4);
  int64_t i = begin;
  for (; i + kSymmetricRows <= end; i += kSymmetricRows)
    symmetric_group<T, kSymmetricRows>(a, ld, n, i, x, y);
  switch (end - i) {
    case 1: return symmetric_group<T, 1>(a, ld, n, i, x, y);
    case 2: return symmetric_group<T, 2>(a, ld, n, i, x, y);
    case 3: return symmetric_group<T, 3>(a, ld, n, i, x, y);
    default: return;
  }
}

template <class T>
inline typename Simd<T>::V quotient(typename Simd<T>::V x, T by) {
  return x / Simd<T>::splat(by);
}

template <class T>
void divide(T* x, int64_t n, T by) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes)
    S::store(x + i, quotient<T>(S::load(x + i), by));
  if (i < n) store_part(x + i, quotient<T>(load_part(x + i, n - i), by), n - i);
}

template <class T>
void add_zero(T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    x[i] += T(0);
}

template <class T>
void negate(T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    x[i] = -x[i];
}

// The first of the largest magnitude, where NaN is the smallest.
template <class T>
inline int64_t largest(const T* x, int64_t n) {
  using S = Simd<T>;
  constexpr int64_t kLanes = S::kLanes;
  T best = -1;  // NaN throughout
  int64_t i = 0;
  if (n >= 2 * kLanes) {
    typename S::V most = S::splat(best);
    for (; i + kLanes <= n; i += kLanes) {
      const typename S::V v = S::load(x + i);
      most = S::max(S::max(v, S::sub(S::zero(), v)), most);
    }
    T lanes[kLanes];
    S::store(lanes, most);
    best = *std::max_element(lanes, lanes + kLanes);
  }
  for (; i < n; ++i)
    if (std::fabs(x[i]) > best) best = std::fabs(x[i]);
  if (best < 0) return 0;
  for (i = 0; std::fabs(x[i]) != best; ++i) {
  }
  return i;
}

// to -= by x.
template <class T>
inline void subtract_row(T* to, T by, const T* x, int64_t n) {
  using S = Simd<T>;
  const typename S::V factor = S::splat(-by);
  int64_t j = 0;
  for (; j + S::kLanes <= n; j += S::kLanes)
    S::store(to + j, S::fma(factor, S::load(x + j), S::load(to + j)));
  if (j < n) store_part(to + j, S::fma(factor, load_part(x + j, n - j), load_part(to + j, n - j)), n - j);
}

// kRows rows of x, a vector of columns at a time.
template <class T, int kRows>
void solve_rows(const Triangle<T>& t, T* x, int64_t ldx, int64_t columns) {
  using S = Simd<T>;
  for (int64_t j = 0; j < columns; j += S::kLanes) {
    const int64_t wide = std::min<int64_t>(S::kLanes, columns - j);
    typename S::V v[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      v[i] = wide == S::kLanes ? S::load(x + i * ldx + j) : load_part(x + i * ldx + j, wide);
    auto step = [&](int k, int begin, int end) __attribute__((always_inline)) {
      if (!t.unit) v[k] = quotient<T>(v[k], t.data[k * (t.row + t.column)]);
#pragma GCC unroll 16
      for (int i = begin; i < end; ++i)
        v[i] = S::fma(S::splat(-t.data[i * t.row + k * t.column]), v[k], v[i]);
    };
    if (t.upper) {
#pragma GCC unroll 16
      for (int k = kRows - 1; k >= 0; --k)
        step(k, 0, k);
    } else {
#pragma GCC unroll 16
      for (int k = 0; k < kRows; ++k)
        step(k, k + 1, kRows);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      wide == S::kLanes ? S::store(x + i * ldx + j, v[i]) : store_part(x + i * ldx + j, v[i], wide);
  }
}

template <class T>
void solve_small(const Triangle<T>& t, int64_t n, T* x, int64_t ldx, int64_t columns) {
  static_assert(kSmall == 8);
  switch (n) {
    case 1: return solve_rows<T, 1>(t, x, ldx, columns);
    case 2: return solve_rows<T, 2>(t, x, ldx, columns);
    case 3: return solve_rows<T, 3>(t, x, ldx, columns);
    case 4: return solve_rows<T, 4>(t, x, ldx, columns);
    case 5: return solve_rows<T, 5>(t, x, ldx, columns);
    case 6: return solve_rows<T, 6>(t, x, ldx, columns);
    case 7: return solve_rows<T, 7>(t, x, ldx, columns);
    default: return solve_rows<T, 8>(t, x, ldx, columns);
  }
}

template <class T>
bool cholesky_small(T* a, int64_t ld, int64_t n) {
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

template <class T>
void lu_small(T* p, int64_t ld, int64_t m, int64_t from, int64_t to, int64_t width, int64_t* exchanges) {
  for (int64_t j = from; j < to; ++j) {
    T* x = p + j * ld;
    const int64_t e = exchanges[j] = largest(x + j, m - j);
    for (int64_t c = 0; c < width && e != 0; ++c)
      std::swap(p[c * ld + j], p[c * ld + j + e]);
    if (x[j] != 0) divide(x + j + 1, m - j - 1, x[j]);
    for (int64_t c = j + 1; c < to; ++c)
      subtract_row(p + c * ld + j + 1, p[c * ld + j], x + j + 1, m - j - 1);
  }
}

// Squares of four by four in registers.
template <class T>
void transpose(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to, int64_t to_step) {
  using Four = std::conditional_t<std::is_same_v<T, double>, Doubles, Floats>;
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      Four x[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r)
        std::memcpy(&x[r], from + (i + r) * from_step + j, sizeof(Four));
      const Four ab = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6),
                 ba = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
      const Four cd = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6),
                 dc = __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
      x[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), x[1] = __builtin_shufflevector(ba, dc, 0, 1, 4, 5);
      x[2] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7), x[3] = __builtin_shufflevector(ba, dc, 2, 3, 6, 7);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r)
        std::memcpy(to + (j + r) * to_step + i, &x[r], sizeof(Four));
    }
    for (; j < columns; ++j)
      for (int64_t r = i; r < i + 4; ++r)
        to[j * to_step + r] = from[r * from_step + j];
  }
  for (; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[j * to_step + i] = from[i * from_step + j];
}

template <class T>
constexpr Kernels<T> kKernels{product_in_place<T>, dots<T>,      symmetric_rows<T>, divide<T>,         negate<T>,
                              add_zero<T>,         transpose<T>, solve_small<T>,    cholesky_small<T>, lu_small<T>};
