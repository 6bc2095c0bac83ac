#include "compiler/tiered.h"

#include <gtest/gtest.h>

namespace sheaf::compiler {
namespace {

TEST(SampledTime, CountsRunsThatAreNotTimedByThoseThatAre) {
  SampledTime t;
  EXPECT_EQ(1, t.weight()) << "the first run is timed";
  t.add(1000, 1);
  EXPECT_EQ(17'000, t.add(1000, 16));
  EXPECT_EQ(25'000, t.add(500, 16)) << "they have become quicker";
}

// Otherwise a kernel that takes microseconds would be compiled because its thread was preempted once.
TEST(SampledTime, OneLongRunCountsAsASlowOne) {
  SampledTime t;
  t.add(1000, 1);
  EXPECT_EQ(1000 + 8 * 5000 + 15 * 1000, t.add(2'000'000, 16)) << "of what counts as quick";
  EXPECT_EQ(1, t.weight()) << "what takes long is timed each time";
  t.reset();
  EXPECT_EQ(2'000'000, t.add(2'000'000, 1)) << "twice the same is no accident";
  EXPECT_EQ(18'000'000, t.add(900'000'000, 1));
}

}  // namespace
}  // namespace sheaf::compiler
