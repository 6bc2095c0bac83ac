// Threefry-2x32 and the conversions of its words to numbers, as JAX defines them (docs/design/random.md has the recipe
// of every distribution). Values are u32 Scalars (see scalar.h); bits agree with JAX exactly.
#pragma once

#include <utility>

#include "scalar/math/scalar.h"

namespace sheaf::scalar::math {

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
    x1 = x1 + (keys[(group + 2) % 3] + (group + 1));  // depends on the key alone: computed once for many counters
  }
  return {x0, x1};
}

// 32 random bits. Draws of 16 and 8 bits use the low bits.
template <class B>
Scalar<B, uint32_t> random_bits32(Words<B> w) {
  return w.first ^ w.second;
}

// 64 random bits, as i64.
template <class B>
Scalar<B, int64_t> random_bits64(Words<B> w) {
  return (to<int64_t>(w.first) << int64_t(32)) | to<int64_t>(w.second);
}

// A uniform number in [0, 1), a multiple of the spacing of floats in [1, 2): the bits fill the mantissa of a number in
// [1, 2), and 1 is subtracted. T is float (from random_bits32) or double (from random_bits64).
template <class B>
Scalar<B, float> unit_uniform(Scalar<B, uint32_t> bits32) {
  return as_float(to<int32_t>(shr(bits32, 9) | 0x3f800000u)) - 1.0f;
}
template <class B>
Scalar<B, double> unit_uniform(Scalar<B, int64_t> bits64) {
  return as_float(shr(bits64, 12) | int64_t(0x3ff0000000000000)) - 1.0;
}
// The same for bf16 (7 random bits) and f16 (10), as f32 values that are exact in the narrow type.
template <class B>
Scalar<B, float> unit_uniform_bf16(Scalar<B, uint32_t> bits32) {
  return to<float>(to<int32_t>(shr(bits32 & 0xffu, 1))) * 0x1p-7f;
}
template <class B>
Scalar<B, float> unit_uniform_f16(Scalar<B, uint32_t> bits32) {
  return to<float>(to<int32_t>(shr(bits32 & 0xffffu, 6))) * 0x1p-10f;
}

}  // namespace sheaf::scalar::math
