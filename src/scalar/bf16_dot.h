// Sums of products of bf16 as the instructions of some processors form them: two products at a time, numbers below the
// smallest normal one taken as zeros. On ARM the products, each exact, are added to each other and then to the sum,
// both times rounded to odd (towards zero, the last bit set if anything was lost). On x86-64 the second is added to the
// sum, then the first, both times rounded once to the nearest.
#pragma once
#include "scalar/scalar_ops.h"

namespace sheaf::scalar {

// Whether this machine multiplies bf16 without widening it first.
bool has_bf16_instructions();

// Whether contractions of bf16 are defined by pairs (library.h): where there are such instructions. Their bits are
// those of any machine of this architecture that has them, but not of others.
bool bf16_in_pairs();

// For tests, while one lives: as on a machine without such instructions.
class WithoutPairs {
 public:
  WithoutPairs();
  ~WithoutPairs();
  WithoutPairs(const WithoutPairs&) = delete;
  WithoutPairs& operator=(const WithoutPairs&) = delete;

 private:
  bool before_;
};

// The sum and a0 b0 and a1 b1.
float add_pair(float sum, scalar::BFloat16 a0, scalar::BFloat16 b0, scalar::BFloat16 a1, scalar::BFloat16 b1);

}  // namespace sheaf::scalar
