// Sums of products of bf16 as the instructions of some processors form them: two products at a time, each exact, added to each other and then to the
// sum, both times rounded to odd (towards zero, the last bit set if anything was lost), numbers below the smallest normal one taken as zeros.
#pragma once
#include "loop/scalar_ops.h"

namespace sheaf::loop {

// Whether this machine multiplies bf16 without widening it first.
bool has_bf16_instructions();

// Whether contractions of bf16 are defined by pairs (library.h): where there are such instructions. Their bits are those of any machine that has them, but not of others.
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

// sum + (a0 b0 + a1 b1)
float add_pair(float sum, scalar::BFloat16 a0, scalar::BFloat16 b0, scalar::BFloat16 a1, scalar::BFloat16 b1);

}  // namespace sheaf::loop
