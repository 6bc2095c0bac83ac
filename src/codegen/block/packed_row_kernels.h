// Kernels of one row by packed panels, for one instruction set: included once per set by packed_row.cpp (see instruction_sets.h).

// acc[v] += x b[v's elements]; x is a lane where there are such multiplications.
template <int lane, int kVectors, class S, class V>
inline void add_row(typename V::V (&acc)[kVectors], const float* x, typename V::V four, const S* b) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    typename V::V y = V::load(b + v * V::kLanes);
    if constexpr (requires { V::template fma_lane<lane>(acc[v], y, four); }) V::template fma_lane<lane>(acc[v], y, four);
    else acc[v] = V::fma(V::splat(x[lane]), y, acc[v]);
  }
}

// The chains of a block take runs of k in turns: those of one panel for each stream are in registers, the others wait.
template <class S, int kStreams, int kVectors, class V = Simd<float>>
void panels_in_runs(const StoredRow<S>& row, const S* b, int64_t apart, int64_t k, int64_t run, float* out, int64_t out_apart) {
  constexpr int kWidth = kVectors * V::kLanes, kChains = loop::kRowChains;
  const int64_t block = loop::contract_block(k);
  const float* x = row.wide;
  float total[kStreams][kWidth] = {};
  for (int64_t begin = 0; begin < k; begin += block) {
    const int64_t end = std::min(k, begin + block);
    float sums[kChains][kStreams][kWidth] = {};
    for (int64_t first = begin, chain = 0; first < end; first += run, chain = (chain + 1) % kChains) {
      typename V::V acc[kStreams][kVectors];
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[s][v] = V::load(&sums[chain][s][v * V::kLanes]);
      int64_t l = first, last = std::min(end, first + run);
      for (; l + 4 <= last; l += 4, b += 4 * kWidth) {
        typename V::V four = V::zero();
        if constexpr (V::kLanes == 4) four = V::load(x + l);
#pragma GCC unroll 4
        for (int s = 0; s < kStreams; ++s) {
          const S* from = b + s * apart;
          if constexpr (kStreams == 1) __builtin_prefetch(from + 1024 / sizeof(S));
          add_row<0, kVectors, S, V>(acc[s], x + l, four, from);
          add_row<1, kVectors, S, V>(acc[s], x + l, four, from + kWidth);
          add_row<2, kVectors, S, V>(acc[s], x + l, four, from + 2 * kWidth);
          add_row<3, kVectors, S, V>(acc[s], x + l, four, from + 3 * kWidth);
        }
      }
      for (; l < last; ++l, b += kWidth)
#pragma GCC unroll 4
        for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) acc[s][v] = V::fma(V::splat(x[l]), V::load(b + s * apart + v * V::kLanes), acc[s][v]);
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) V::store(&sums[chain][s][v * V::kLanes], acc[s][v]);
    }
    for (int s = 0; s < kStreams; ++s)
      for (int e = 0; e < kWidth; ++e) total[s][e] += loop::sum_of_chains(&sums[0][s][e], kStreams * kWidth);
  }
  for (int s = 0; s < kStreams; ++s) std::copy_n(total[s], kWidth, out + s * out_apart);
}

// Runs are of one k: the sums of all chains are in registers.
template <class S, int kStreams, int kVectors, class V = Simd<float>>
void panels_in_turns(const StoredRow<S>& row, const S* b, int64_t apart, int64_t k, int64_t, float* out, int64_t out_apart) {
  constexpr int kWidth = kVectors * V::kLanes, kChains = loop::kRowChains, kAhead = 1024 / sizeof(S);
  const int64_t block = loop::contract_block(k);
  const float* x = row.wide;
  typename V::V total[kStreams][kVectors];
#pragma GCC unroll 4
  for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) total[s][v] = V::zero();
  for (int64_t begin = 0; begin < k; begin += block) {
    const int64_t depth = std::min(block, k - begin);
    typename V::V acc[kStreams][kChains][kVectors];
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[s][c][v] = V::zero();
    int64_t l = 0;
    for (; l + kChains <= depth; l += kChains, b += kChains * kWidth)
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s) {
        const S* from = b + s * apart;
        if constexpr (kStreams == 1)
#pragma GCC unroll 8
          for (int at = 0; at < kChains * kWidth; at += 64 / sizeof(S)) __builtin_prefetch(from + at + kAhead);
        if constexpr (requires { V::multiply_chains(acc[s], x, from); }) V::multiply_chains(acc[s], x + begin + l, from);
        else
#pragma GCC unroll 4
          for (int c = 0; c < kChains; ++c)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) acc[s][c][v] = V::fma(V::splat(x[begin + l + c]), V::load(from + c * kWidth + v * V::kLanes), acc[s][c][v]);
      }
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      if (l + c >= depth) break;
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[s][c][v] = V::fma(V::splat(x[begin + l + c]), V::load(b + s * apart + v * V::kLanes), acc[s][c][v]);
      b += kWidth;
    }
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) total[s][v] = V::add(total[s][v], V::add(V::add(acc[s][0][v], acc[s][1][v]), V::add(acc[s][2][v], acc[s][3][v])));
  }
#pragma GCC unroll 4
  for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) V::store(out + s * out_apart + v * V::kLanes, total[s][v]);
}

// Sums of all chains of a panel are in registers, half of which there are.
template <class T>
constexpr int kTurnVectors = Simd<T>::kLanes == 8 ? 2 : 4;

// With vectors of 16 bytes multiplying takes as long as memory; wider ones wait for it, in any order.
template <class T>
constexpr Kernels<T> kKernels{Simd<T>::kLanes * sizeof(T) == 16,
                              {{1, 4 * Simd<T>::kLanes, panels_in_runs<float, 1, 4>}, {4, 4 * Simd<T>::kLanes, panels_in_runs<float, 4, 4>}},
                              {{1, kTurnVectors<T> * Simd<T>::kLanes, panels_in_turns<BFloat16, 1, kTurnVectors<T>>}, {2, 2 * Simd<T>::kLanes, panels_in_turns<BFloat16, 2, 2>}}};
