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

// Otherwise a thread that waited once for a processor would make code for a kernel that takes microseconds.
TEST(SampledTime, OneLongRunCountsOnce) {
  SampledTime t;
  t.add(1000, 1);
  EXPECT_EQ(1000 + 2'000'000 + 15 * 1000, t.add(2'000'000, 16));
  EXPECT_EQ(1, t.weight()) << "what takes long is timed each time";
}

}  // namespace
}  // namespace sheaf::compiler
