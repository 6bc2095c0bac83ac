// Offsets of buffers with lifetimes, and strided layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/layout.h"
#include "memory/offsets.h"

namespace sheaf::memory {
namespace {

TEST(MemoryPlan, BuffersAliveTogetherNeverOverlap) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    std::vector<Lifetime> buffers(1 + rng() % 40);
    for (Lifetime& b : buffers) {
      b.bytes = static_cast<int64_t>(rng() % 5000);
      b.first = static_cast<int>(rng() % 30);
      b.last = b.first + static_cast<int>(rng() % 10);
    }
    int64_t alignment = seed % 2 ? 64 : 256;
    MemoryPlan plan = plan_memory(buffers, alignment);
    ASSERT_EQ(plan.offsets.size(), buffers.size());
    int64_t end = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % alignment, 0) << "seed " << seed;
      end = std::max(end, plan.offsets[i] + buffers[i].bytes);
      for (size_t k = 0; k < i; ++k) {
        bool together = buffers[i].first <= buffers[k].last && buffers[k].first <= buffers[i].last;
        bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[k] ||
                     plan.offsets[k] + buffers[k].bytes <= plan.offsets[i];
        EXPECT_TRUE(!together || apart || buffers[i].bytes == 0 || buffers[k].bytes == 0) << "seed " << seed;
      }
    }
    EXPECT_LE(end, static_cast<int64_t>(plan.total_bytes));
  }
}

TEST(MemoryPlan, BuffersOneAfterTheOtherShareMemory) {
  MemoryPlan plan = plan_memory({{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 4}}, 64);
  EXPECT_EQ(plan.offsets, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(plan.total_bytes, 1024u);
}

TEST(Layout, StretchedAxesHaveStrideZero) {
  Layout x = stretched({{3, 1}, {1, 1}}, {2, 3, 4});
  EXPECT_EQ(x.sizes, (Dims{2, 3, 4}));
  EXPECT_EQ(x.strides, (Dims{0, 1, 0}));
}

TEST(Layout, AxesThatAllArraysWalkAsOneAreMerged) {
  std::vector<Layout> arrays = {{{2, 1, 3, 4}, {12, 12, 4, 1}}, {{2, 1, 3, 4}, {12, 0, 4, 1}}};
  collapse_axes(arrays);
  EXPECT_EQ(arrays[0].sizes, (Dims{24}));
  EXPECT_EQ(arrays[1].strides, (Dims{1}));
  arrays = {{{2, 3, 4}, {12, 4, 1}}, {{2, 3, 4}, {4, 0, 1}}};  // the second repeats its rows
  collapse_axes(arrays);
  EXPECT_EQ(arrays[0].sizes, (Dims{2, 3, 4}));
}

TEST(Layout, AxesOfDifferentSortsStayApart) {
  std::vector<Layout> arrays = {{{2, 3, 1, 4}, {12, 4, 4, 1}}};
  std::vector<bool> sorts = {false, false, true, true};
  collapse_axes(arrays, &sorts);
  EXPECT_EQ(arrays[0].sizes, (Dims{6, 4}));
  EXPECT_EQ(sorts, (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace sheaf::memory
