// The inner loops of attention for a single row (decoding a token), for one instruction set: included once per set by
// tile_code.h. k and v are read once, in place and in their own element type; vectors run along their rows.

// The number of vectors that hold the chains of a single row.
template <class T>
constexpr int kChainVectors = routines::kAttentionChains / Simd<T>::kLanes;

// s[j] = the score of q against row j of k, for j < n, four at a time; q is padded with zeros to whole chains.
template <class T, class E>
void scores(int64_t n, int64_t depth, const T* q, const E* k, int64_t ldk, T* s) {
  using S = Simd<T>;
  constexpr int64_t kChains = routines::kAttentionChains, kAhead = 8;
  int64_t whole = depth / kChains * kChains;
  for (int64_t j = 0; j < n; j += 4) {
    const E* rows[4];
    typename S::V acc[4][kChainVectors<T>];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      rows[c] = k + std::min(j + c, n - 1) * ldk;
#pragma GCC unroll 16
      for (int v = 0; v < kChainVectors<T>; ++v)
        acc[c][v] = S::zero();
    }
    auto multiply = [&](const T* x, const E*(&y)[4], int64_t at) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        typename S::V row[kChainVectors<T>];
        S::load_row(row, y[c] + at);
#pragma GCC unroll 16
        for (int v = 0; v < kChainVectors<T>; ++v)
          acc[c][v] = S::fma(S::load(x + v * S::kLanes), row[v], acc[c][v]);
      }
    };
    for (int64_t d = 0; d < whole; d += kChains) {
      // The hardware prefetcher does not follow the strided rows of one head among others.
      for (int c = 0; c < 4; ++c)
        __builtin_prefetch(rows[c] + kAhead * ldk + d);
      multiply(q + d, rows, d);
    }
    if (whole < depth) {
      E ends[4][kChains] = {};
      const E* last[4];
      for (int c = 0; c < 4; ++c) {
        std::memcpy(ends[c], rows[c] + whole, (depth - whole) * sizeof(E));
        last[c] = ends[c];
      }
      multiply(q + whole, last, 0);
    }
    if constexpr (requires { S::sum_sixteens(acc, s); }) {
      S::sum_sixteens(acc, s + j);
    } else {
      for (int c = 0; c < 4; ++c) {
        T chains[kChains];
        for (int v = 0; v < kChainVectors<T>; ++v)
          S::store(chains + v * S::kLanes, acc[c][v]);
        s[j + c] = routines::sum_of_chains(chains);
      }
    }
  }
}

// weigh() for a single row, whose n scores are contiguous; writes up to whole chains.
template <class T>
void weigh_row(int64_t n, T* s, bool first, T* m, T* l, T* factor) {
  using S = Simd<T>;
  constexpr int64_t kChains = routines::kAttentionChains;
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  int64_t padded = (n + kChains - 1) / kChains * kChains;
  std::fill(s + n, s + padded, kNothing);
  T lanes[kChains] = {};
  typename S::V acc[kChainVectors<T>];
#pragma GCC unroll 8
  for (int v = 0; v < kChainVectors<T>; ++v)
    acc[v] = S::splat(first ? kNothing : *m);
  for (int64_t j = 0; j < padded; j += kChains)
#pragma GCC unroll 8
    for (int v = 0; v < kChainVectors<T>; ++v)
      acc[v] = S::max(S::load(s + j + v * S::kLanes), acc[v]);
#pragma GCC unroll 8
  for (int v = 0; v < kChainVectors<T>; ++v)
    S::store(lanes + v * S::kLanes, acc[v]);
  T most = *std::max_element(lanes, lanes + kChains), before = *m;
  *m = most;
  auto point = reference_point<T>(S::splat(most));
  std::fill(lanes, lanes + kChains, T(0));
  if (!first) {
    T c[S::kLanes];
    S::store(c, decay<T>(S::sub(S::splat(before), point)));
    *factor = c[0];
    lanes[0] = *l * c[0];
  }
#pragma GCC unroll 8
  for (int v = 0; v < kChainVectors<T>; ++v)
    acc[v] = S::load(lanes + v * S::kLanes);
  for (int64_t j = 0; j < padded; j += kChains)
#pragma GCC unroll 8
    for (int v = 0; v < kChainVectors<T>; ++v) {
      T* p = s + j + v * S::kLanes;
      auto weight = decay<T>(S::sub(S::load(p), point));
      S::store(p, weight);
      acc[v] = S::add(acc[v], weight);
    }
#pragma GCC unroll 8
  for (int v = 0; v < kChainVectors<T>; ++v)
    S::store(lanes + v * S::kLanes, acc[v]);
  *l = routines::sum_of_chains(lanes);
}

// y[e] = 0, or y[e] factor, + p[0] v[0][e] + p[1] v[1][e] + …, for n rows of v and the elements of kVectors vectors.
template <class T, class E, int kVectors>
inline void add_rows_part(int64_t n, const T* p, const E* v, int64_t ldv, T* y, bool first, T factor) {
  using S = Simd<T>;
  typename S::V acc[kVectors], row[kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i)
    acc[i] = first ? S::zero() : S::mul(S::load(y + i * S::kLanes), S::splat(factor));
  for (int64_t j = 0; j < n; ++j, v += ldv) {
    S::load_row(row, v);
    auto weight = S::splat(p[j]);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i)
      acc[i] = S::fma(weight, row[i], acc[i]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i)
    S::store(y + i * S::kLanes, acc[i]);
}

// The same for `width` elements, a multiple of the lanes. Computes as many at a time as there are registers for (16 or
// 8 vectors), since longer contiguous reads are faster.
template <class T, class E>
void add_rows(int64_t n, int64_t width, const T* p, const E* v, int64_t ldv, T* y, bool first, T factor) {
  constexpr int64_t kLanes = Simd<T>::kLanes;
  int64_t e = 0;
  auto part = [&]<int vectors>(std::integral_constant<int, vectors>) __attribute__((always_inline)) {
    for (; e + vectors * kLanes <= width; e += vectors * kLanes)
      add_rows_part<T, E, vectors>(n, p, v + e, ldv, y + e, first, factor);
  };
  if constexpr (kTile<T> == 8 && sizeof(E) == sizeof(T)) part(std::integral_constant<int, 16>{});
  part(std::integral_constant<int, 8>{});
  part(std::integral_constant<int, 2>{});
  part(std::integral_constant<int, 1>{});
}

template <class T>
constexpr RowKernels<T> row_alone() {
  return {weigh_row<T>,
          by_element<T, RowReaders>([]<class E>() -> RowReaders<T, E> { return {scores<T, E>, add_rows<T, E>}; })};
}
