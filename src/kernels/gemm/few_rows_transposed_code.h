// Kernels of products of few rows with contiguous columns, for one instruction set: included once per set by
// few_rows_transposed.cpp (instruction_sets.h).

// Columns at a time: two vectors of sums (independent chains), unless that would read too many columns at once.
constexpr int kGroups = Simd<float>::kLanes < 16 ? 2 : 1, kColumns = kGroups * Simd<float>::kLanes;

// total[i][c] += the sum over `depth` k of x[i][k] column[c][k], for kRows rows and kColumns columns `ldb` apart.
// Prefetches the same amount at `next`.
template <class S, int kRows, Order kWay>
void transposed_block(const float* x, int64_t ldx, const S* b, int64_t ldb, int64_t depth, const S* next,
                      float* total) {
  using V = Simd<float>;
  constexpr int kStep = V::template kColumnDepth<S>, kLine = std::max<int>(kStep, 64 / sizeof(S));
  typename V::V acc[kGroups][kRows];
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g)
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
      acc[g][i] = V::zero();
  auto step = [&](int g, int64_t l) __attribute__((always_inline)) {
    V::multiply_columns(acc[g], b + g * V::kLanes * ldb + l, ldb, x + l, ldx);
  };
  // Alternates between groups, so that consecutive multiply-adds are independent; steps of bf16 are long enough
  // without.
  auto steps = [&]<int n>(std::integral_constant<int, n>, int64_t l) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int i = 0; i < n / kStep * kGroups; ++i)
      if constexpr (std::is_same_v<S, BFloat16>)
        step(i / (n / kStep), l + i % (n / kStep) * kStep);
      else
        step(i % kGroups, l + i / kGroups * kStep);
  };
  int64_t l = 0;
  for (; l + kLine <= depth; l += kLine) {
#pragma GCC unroll 16
    for (int r = 0; r < kColumns; ++r) {
      if constexpr (kWay == Order::Apart) {
        __builtin_prefetch(next + r * ldb + l);
      } else {
        __builtin_prefetch(next + l * kColumns + r * kLine, 0, 2);
        __builtin_prefetch(b + r * ldb + l + 64);
      }
    }
    steps(std::integral_constant<int, kLine>{}, l);
  }
  for (; l + kStep <= depth; l += kStep)
    steps(std::integral_constant<int, kStep>{}, l);
  for (; l < depth; ++l)
    for (int g = 0; g < kGroups; ++g) {
      float y[V::kLanes];
      for (int e = 0; e < V::kLanes; ++e)
        y[e] = widen<float>(b[(g * V::kLanes + e) * ldb + l]);
      for (int i = 0; i < kRows; ++i)
        acc[g][i] = V::fma(V::splat(x[i * ldx + l]), V::load(y), acc[g][i]);
    }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      float* to = total + i * kColumns + g * V::kLanes;
      V::store(to, V::add(V::load(to), acc[g][i]));
    }
}

// out[c] = the product of x with column c, for kColumns columns `ldb` apart: a vector holds the four chains of kQuads
// columns. x is the result of filled_row. Prefetches the next lines of each column, farther ahead if there is least
// work per line. The end of a block is copied and padded with zeros, which change no sum.
template <class S, int kColumns, class V = Simd<float>>
void one_row(const float* x, const S* b, int64_t ldb, int64_t k, Rest<S>& rest, float* out) {
  constexpr int kChains = routines::kRowChains, kLine = 64 / sizeof(S),
                kAhead = (sizeof(S) == sizeof(float) ? 1024 : 512) / sizeof(S);
  constexpr bool kPrefetches =
      V::kLanes > 4 || kColumns < 4 ||
      sizeof(S) < sizeof(float);  // several streams with little work per line are fastest without
  const int64_t block = routines::contract_block(k);
  float total[kColumns] = {};
  for (int64_t begin = 0; begin < k; begin += block, x += round_up(block, kLine)) {
    const int64_t depth = std::min(block, k - begin);
    const S* from = b + begin;
    int64_t l = 0;
    if constexpr (requires { V::kQuads; }) {
      constexpr int kVectors = kColumns / V::kQuads;
      typename V::V acc[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        acc[v] = V::zero();
      // Multiplies one line of each column.
      auto line = [&](const S* columns, int64_t apart, const float* each) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
#pragma GCC unroll 4
          for (int s = 0; s < kLine; s += 16 / sizeof(S)) {
            typename V::V y[4 / sizeof(S)];
            V::load_quads(y, columns + v * V::kQuads * apart + s, apart);
#pragma GCC unroll 2
            for (int q = 0; q < 4 / int(sizeof(S)); ++q)
              acc[v] = V::fma(V::splat_quad(each + s + q * kChains), y[q], acc[v]);
          }
      };
      for (; l + kLine <= depth; l += kLine) {
#pragma GCC unroll 8
        for (int c = 0; c < kColumns && kPrefetches; ++c)
          __builtin_prefetch(from + c * ldb + l + kAhead);
        line(from + l, ldb, x + l);
      }
      if (l < depth) {
        rest.hold(depth - l);
        for (int c = 0; c < kColumns; ++c)
          std::copy_n(from + c * ldb + l, depth - l, rest.memory + c * kLine);
        line(rest.memory, kLine, x + l);
      }
      float sum[kColumns];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        V::sum_quads(acc[v], sum + v * V::kQuads);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c)
        total[c] += sum[c];
    } else {
      float sums[kColumns][kChains] = {};
      for (; l < depth; ++l)
        for (int c = 0; c < kColumns; ++c) {
          float& sum = sums[c][l % kChains];
          sum = scalar::apply<scalar::Op::Fma>(x[l], widen<float>(from[c * ldb + l]), sum);
        }
      for (int c = 0; c < kColumns; ++c)
        total[c] += routines::sum_of_chains(sums[c], 1);
    }
  }
  std::copy_n(total, kColumns, out);
}

// out[c][i] = the product of row i of x with column c, for kFewColumns columns `ldb` apart and kVectors vectors of
// rows: x is [k][rows], padded with zeros. Lanes are rows, so that columns are read in memory order. Two blocks of k at
// a time: the sums of a single block would be too few independent chains, and more columns at strides that are
// multiples of 16 KiB would evict each other from the cache.
template <int kVectors, class V = Simd<float>>
void few_rows(const float* x, const float* b, int64_t ldb, int64_t k, float* out) {
  constexpr int64_t kHeight = kVectors * V::kLanes;
  const int64_t block = routines::contract_block(k);
  typename V::V total[kFewColumns][kVectors];
  for (auto& column : total)
    for (auto& sum : column)
      sum = V::zero();
  for (int64_t begin = 0; begin < k; begin += 2 * block) {
    typename V::V acc[2][kFewColumns][kVectors];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
#pragma GCC unroll 4
      for (int c = 0; c < kFewColumns; ++c)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          acc[half][c][v] = V::zero();
    auto step = [&](int half, int64_t l) __attribute__((always_inline)) {
      V::multiply_rows(acc[half], b + l, ldb, x + l * kHeight, kHeight);
    };
    const int64_t ends[] = {std::min(k, begin + block), std::min(k, begin + 2 * block)};
    int64_t l = begin;
    for (; l + block + V::kDepth <= ends[1]; l += V::kDepth)
      step(0, l), step(1, l + block);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      int64_t at = l + half * block;
      for (; at + V::kDepth <= ends[half]; at += V::kDepth)
        step(half, at);
      for (; at < ends[half]; ++at)
        for (int c = 0; c < kFewColumns; ++c)
          for (int v = 0; v < kVectors; ++v)
            acc[half][c][v] =
                V::fma(V::splat(b[c * ldb + at]), V::load(x + at * kHeight + v * V::kLanes), acc[half][c][v]);
#pragma GCC unroll 4
      for (int c = 0; c < kFewColumns; ++c)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          total[c][v] = V::add(total[c][v], acc[half][c][v]);
    }
  }
  for (int c = 0; c < kFewColumns; ++c)
    for (int v = 0; v < kVectors; ++v)
      V::store(out + c * kHeight + v * V::kLanes, total[c][v]);
}

// Columns at a time; they are as far apart as possible if they come from memory. kFewStreams is for cores that read one
// stream best: if a vector holds one column, one stream of floats, or two of narrow elements, which need more work.
template <class S>
constexpr int kFewStreams = Simd<float>::kLanes > 4     ? Simd<float>::kLanes / 2
                            : sizeof(S) < sizeof(float) ? 2
                                                        : 1;
constexpr int kStreams = std::max(4, Simd<float>::kLanes / 2);

template <class S, int kColumns>
constexpr OneRow<S> kOneRow{one_row<S, kColumns>, kColumns};

template <class S, Order kWay>
constexpr Forms<S> kForms{transposed_block<S, 1, kWay>, transposed_block<S, 2, kWay>, transposed_block<S, 4, kWay>};
template <class S>
constexpr Blocks<S> kBlocks{kForms<S, Order::Apart>, kForms<S, Order::InOrder>, kOneRow<S, kFewStreams<S>>,
                            kOneRow<S, kStreams>};

// Only for narrow vectors: with wider ones the rows would leave lanes idle.
constexpr std::array<FewRows, 2> kFewRows = [] {
  if constexpr (Simd<float>::kDepth > 1)
    return std::array<FewRows, 2>{few_rows<1>, few_rows<2>};
  else
    return std::array<FewRows, 2>{};
}();

template <class T>
constexpr Kernels<T> kKernels{Simd<float>::kLanes, kColumns,          kFewRows,
                              kBlocks<float>,      kBlocks<BFloat16>, kBlocks<Float16>};
