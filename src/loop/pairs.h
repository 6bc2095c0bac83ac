// Sums of products of bf16 as the matrix instructions of some processors form them: two products at a time, each exact, added to each other and then to the
// sum, both times rounded to odd (towards zero, the last bit set if anything was lost), numbers below the smallest normal one taken as zeros.
#pragma once
#include "loop/scalar_ops.h"

namespace sheaf::loop {

// Whether this machine has such instructions: contractions of bf16 with several rows and columns are then defined by them (library.h). Their bits are those of
// any machine that has them, but not of others.
bool bf16_in_pairs();

// For tests, while one lives: as a machine with or without them. Such a machine must be there for true.
class BF16InPairs {
 public:
  explicit BF16InPairs(bool pairs);
  ~BF16InPairs();
  BF16InPairs(const BF16InPairs&) = delete;
  BF16InPairs& operator=(const BF16InPairs&) = delete;

 private:
  bool before_;
};

// sum + (a0 b0 + a1 b1)
float add_pair(float sum, scalar::BFloat16 a0, scalar::BFloat16 b0, scalar::BFloat16 a1, scalar::BFloat16 b1);

}  // namespace sheaf::loop
