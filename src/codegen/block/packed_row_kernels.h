// Kernels of one row by packed panels, for one instruction set: included once per set by packed_row.cpp (see instruction_sets.h).

// The sums of all chains are in registers.
template <class S, int kStreams, int kVectors, class V = Simd<float>>
void panels_in_turns(const StoredRow<S>& row, const S* b, int64_t apart, int64_t k, float* out, int64_t out_apart) {
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
                              {{1, kTurnVectors<T> * Simd<T>::kLanes, panels_in_turns<float, 1, kTurnVectors<T>>}, {2, 2 * Simd<T>::kLanes, panels_in_turns<float, 2, 2>}},
                              {{1, kTurnVectors<T> * Simd<T>::kLanes, panels_in_turns<BFloat16, 1, kTurnVectors<T>>}, {2, 2 * Simd<T>::kLanes, panels_in_turns<BFloat16, 2, 2>}}};
