// Kernels of products of few rows with columns, for one instruction set: included once per set by thin_turned.cpp (see instruction_sets.h).

// Columns at a time: two vectors of sums, each a chain of its own, where that does not ask memory for too many columns at once.
constexpr int kGroups = Simd<float>::kLanes < 16 ? 2 : 1, kColumns = kGroups * Simd<float>::kLanes;

// total[i][c] += the sum over `depth` k of x[i][k] column[c][k], for kRows rows and kColumns columns `ldb` apart; meanwhile asks for as much at `next`.
// Lanewise each column has an x of its own: those of a vector of columns at x, of the second vector at x + second.
template <class S, int kRows, Way kWay>
void turned_block(const float* x, int64_t ldx, int64_t second, const S* b, int64_t ldb, int64_t depth, const S* next, float* total) {
  using V = Simd<float>;
  constexpr bool kLanewise = kWay == Way::Lanewise;
  constexpr int kStep = V::template kColumnDepth<S>, kLine = std::max<int>(kStep, 64 / sizeof(S));
  typename V::V acc[kGroups][kRows];
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g)
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc[g][i] = V::zero();
  auto step = [&](int64_t l) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      const float* mine = kLanewise ? x + g * second + l * V::kLanes : x + l;
      V::template multiply_columns<kLanewise>(acc[g], b + g * V::kLanes * ldb + l, ldb, mine, ldx);
    }
  };
  int64_t l = 0;
  for (; l + kLine <= depth; l += kLine) {
#pragma GCC unroll 16
    for (int r = 0; r < kColumns; ++r) {
      if constexpr (kWay == Way::Apart) {
        __builtin_prefetch(next + r * ldb + l);
      } else {
        __builtin_prefetch(next + l * kColumns + r * kLine, 0, 2);
        __builtin_prefetch(b + r * ldb + l + 64);
      }
    }
#pragma GCC unroll 4
    for (int s = 0; s < kLine; s += kStep) step(l + s);
  }
  for (; l + kStep <= depth; l += kStep) step(l);
  if constexpr (!kLanewise)
    for (; l < depth; ++l)
      for (int g = 0; g < kGroups; ++g) {
        float y[V::kLanes];
        for (int e = 0; e < V::kLanes; ++e) y[e] = widen<float>(b[(g * V::kLanes + e) * ldb + l]);
        for (int i = 0; i < kRows; ++i) acc[g][i] = V::fma(V::splat(x[i * ldx + l]), V::load(y), acc[g][i]);
      }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      float* to = total + i * kColumns + g * V::kLanes;
      V::store(to, V::add(V::load(to), acc[g][i]));
    }
}

template <class S, Way kWay>
constexpr Forms<S> kForms{turned_block<S, 1, kWay>, turned_block<S, 2, kWay>, turned_block<S, 4, kWay>};
template <class S>
constexpr Blocks<S> kBlocks{kForms<S, Way::Apart>, kForms<S, Way::InOrder>, kForms<S, Way::Lanewise>};

template <class T>
constexpr Kernels<T> kKernels{Simd<float>::kLanes, kColumns, kBlocks<float>, kBlocks<BFloat16>, kBlocks<Float16>};
