// Threefry-2x32 and the first steps from its words to numbers, as JAX defines them (docs/design/random.md has the
// recipes of every distribution). Values are u32 Scalars (see scalar.h); bits agree with JAX exactly.
#pragma once

#include <utility>

#include "loop/math/scalar.h"

namespace sheaf::loop::math {

template <class B>
using Words = std::pair<Scalar<B, uint32_t>, Scalar<B, uint32_t>>;

// The block function, 20 rounds: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC'11).
template <class B>
Words<B> threefry2x32(Scalar<B, uint32_t> k0, Scalar<B, uint32_t> k1, Scalar<B, uint32_t> x0, Scalar<B, uint32_t> x1) {
  constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Scalar<B, uint32_t> keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  x0 = x0 + keys[0];
  x1 = x1 + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (uint32_t r : kRotations[group % 2]) {
      x0 = x0 + x1;
      x1 = ((x1 << r) | shr(x1, 32 - r)) ^ x0;
    }
    x0 = x0 + keys[(group + 1) % 3];
    x1 = x1 + keys[(group + 2) % 3] + (group + 1);
  }
  return {x0, x1};
}

// The two words of element `index` of a draw with this key: the counter is the 64-bit index in row-major order.
template <class B>
Words<B> random_words(Scalar<B, uint32_t> k0, Scalar<B, uint32_t> k1, Scalar<B, uint32_t> index_hi,
                      Scalar<B, uint32_t> index_lo) {
  return threefry2x32(k0, k1, index_hi, index_lo);
}

// 32 random bits; 16 and 8 bits are the low ones of these.
template <class B>
Scalar<B, uint32_t> random_bits32(Words<B> w) { return w.first ^ w.second; }

}  // namespace sheaf::loop::math
