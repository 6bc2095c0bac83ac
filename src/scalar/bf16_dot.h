// Sums of products of bf16 as processors form them.
//
// Dot-product instructions (bfmmla, bfdot, vdpbf16ps) take two products at a time,
// subnormal numbers taken as zeros. On ARM the products, each exact, are added to each other and then to the sum, both
// times rounded to odd (towards zero, the last bit set if anything was lost). On x86-64 the second product is added to
// the sum, then the first, both times rounded once to the nearest. The bits are those of any processor of this
// architecture that has the instructions, but not of others.
#pragma once
#include "scalar/scalar_ops.h"

namespace sheaf::scalar {

// sum + a0 b0 + a1 b1.
float bf16_dot(float sum, BFloat16 a0, BFloat16 b0, BFloat16 a1, BFloat16 b1);

// The matrix unit of x86-64 (AMX, tdpbf16ps) takes 32 products at a time: those of even and those of odd k are two
// chains of fused multiply-adds that start from zero; the sum of both is added to the total. Each operation rounds to
// the nearest, and takes and gives subnormal numbers as zeros. Fewer products are filled up with 0 times 0.
inline constexpr int64_t kBf16TileTerms = 32;
class Bf16TileSum {
 public:
  void add(BFloat16 a0, BFloat16 b0, BFloat16 a1, BFloat16 b1);  // the next even and odd k
  float added_to(float total) const;

 private:
  float even_ = 0, odd_ = 0;
};

}  // namespace sheaf::scalar
