// Kernels of one row by packed panels, for one instruction set: included once per set by packed_row.cpp (see instruction_sets.h).

// Sums of all chains of a panel are in registers, half of which there are.
template <class V>
constexpr int kPanelVectors = V::kLanes == 8 ? 2 : 4;

// out = x by `count` panels one behind the other.
template <class V = Simd<float>>
void multiply_panels(const float* x, const BFloat16* b, int64_t count, int64_t k, float* out) {
  constexpr int kVectors = kPanelVectors<V>, kWidth = kVectors * V::kLanes, kChains = loop::kRowChains, kAhead = 1024 / sizeof(BFloat16);
  const int64_t block = loop::contract_block(k);
  for (int64_t panel = 0; panel < count; ++panel, out += kWidth) {
    typename V::V total[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) total[v] = V::zero();
    for (int64_t begin = 0; begin < k; begin += block) {
      const int64_t depth = std::min(block, k - begin);
      typename V::V acc[kChains][kVectors];
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[c][v] = V::zero();
      int64_t l = 0;
      for (; l + kChains <= depth; l += kChains, b += kChains * kWidth) {
#pragma GCC unroll 8
        for (int at = 0; at < kChains * kWidth; at += 64 / sizeof(BFloat16)) __builtin_prefetch(b + at + kAhead);
        if constexpr (requires { V::multiply_chains(acc, x, b); }) V::multiply_chains(acc, x + begin + l, b);
        else
#pragma GCC unroll 4
          for (int c = 0; c < kChains; ++c)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) acc[c][v] = V::fma(V::splat(x[begin + l + c]), V::load(b + c * kWidth + v * V::kLanes), acc[c][v]);
      }
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c) {
        if (l + c >= depth) break;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[c][v] = V::fma(V::splat(x[begin + l + c]), V::load(b + v * V::kLanes), acc[c][v]);
        b += kWidth;
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) total[v] = V::add(total[v], V::add(V::add(acc[0][v], acc[1][v]), V::add(acc[2][v], acc[3][v])));
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) V::store(out + v * V::kLanes, total[v]);
  }
}

// With vectors of 16 bytes widening and multiplying take as long as memory; wider ones wait for it, in any order.
template <class T>
constexpr Kernels<T> kKernels{Simd<T>::kLanes * sizeof(T) == 16, kPanelVectors<Simd<T>> * Simd<T>::kLanes, multiply_panels<>};
