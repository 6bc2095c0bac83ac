// Sums of bf16 products with the bits of the processor's instructions.
//
// Dot-product instructions (bfmmla, bfdot, vdpbf16ps) add two products at a time and treat subnormal numbers as zeros.
// On ARM the two exact products are added to each other and then to the sum; both additions round to odd (towards zero,
// with the last bit set if the result is inexact). On x86-64 the second product is added to the sum, then the first;
// each addition rounds once to the nearest. All processors of one architecture that have the instructions give equal
// bits; those of other architectures differ.
#pragma once
#include "scalar/scalar_ops.h"

namespace sheaf::scalar {

// Returns sum + a0 b0 + a1 b1.
float bf16_dot(float sum, BFloat16 a0, BFloat16 b0, BFloat16 a1, BFloat16 b1);

// The matrix unit of x86-64 (AMX, tdpbf16ps) adds 32 products at a time: those of even and those of odd k are two
// chains of fused multiply-adds that start from zero; the sum of both is added to the total. Each operation rounds to
// the nearest, and reads and writes subnormal numbers as zeros. Fewer products are padded with 0 times 0.
inline constexpr int64_t kBf16TileTerms = 32;
class Bf16TileSum {
 public:
  void add(BFloat16 a0, BFloat16 b0, BFloat16 a1, BFloat16 b1);  // the next even and odd k
  float added_to(float total) const;

 private:
  float even_ = 0, odd_ = 0;
};

}  // namespace sheaf::scalar
