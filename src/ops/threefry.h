// The Threefry-2x32 block cipher with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011),
// written against a builder like the elementary functions, so that every back end draws the same bits.
#pragma once
#include <utility>

namespace sheaf::ops {

template <class B>
std::pair<typename B::V, typename B::V> threefry2x32(B& b, typename B::V k0, typename B::V k1, typename B::V x0, typename B::V x1) {
  using V = typename B::V;
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  V keys[3] = {k0, k1, b.xor_(b.xor_(k0, k1), b.u32(0x1BD11BDAu))};
  x0 = b.add(x0, keys[0]);
  x1 = b.add(x1, keys[1]);
  for (uint32_t group = 0; group < 5; ++group) {
    for (int r : kRotations[group % 2]) {
      x0 = b.add(x0, x1);
      x1 = b.or_(b.shl(x1, b.u32(r)), b.shr(x1, b.u32(32 - r)));
      x1 = b.xor_(x0, x1);
    }
    x0 = b.add(x0, keys[(group + 1) % 3]);
    x1 = b.add(x1, b.add(keys[(group + 2) % 3], b.u32(group + 1)));
  }
  return {x0, x1};
}

}  // namespace sheaf::ops
