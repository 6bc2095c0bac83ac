// Sums of products of bf16 as dot-product instructions form them (bfmmla, bfdot, vdpbf16ps): two products at a time,
// subnormal numbers taken as zeros. On ARM the products, each exact, are added to each other and then to the sum, both
// times rounded to odd (towards zero, the last bit set if anything was lost). On x86-64 the second product is added to
// the sum, then the first, both times rounded once to the nearest. The bits are those of any processor of this
// architecture that has the instructions, but not of others.
#pragma once
#include "scalar/scalar_ops.h"

namespace sheaf::scalar {

// sum + a0 b0 + a1 b1.
float bf16_dot(float sum, BFloat16 a0, BFloat16 b0, BFloat16 a1, BFloat16 b1);

}  // namespace sheaf::scalar
