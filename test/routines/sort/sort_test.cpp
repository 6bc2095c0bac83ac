// The corners of sorting and running sums.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "routines/sort/args.h"
#include "tensor/dtype.h"

namespace sheaf::routines {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::byte* bytes(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

TEST(Sort, IsStableWithNaNLast) {
  std::vector<float> x{3, kNaN, 1, 3, -0.0f, 0.0f, kNaN}, v(7);
  std::vector<int32_t> at(7);
  std::byte* buffers[] = {bytes(x), bytes(v), bytes(at)};
  SortArgs<> args{.dtype = DType::F32, .rows = 1, .n = 7, .descending = false, .count = 7};
  sort({buffers}, args);
  EXPECT_EQ(at, (std::vector<int32_t>{4, 5, 2, 0, 3, 1, 6}));
  args.descending = true;
  sort({buffers}, args);
  EXPECT_EQ(at, (std::vector<int32_t>{0, 3, 2, 4, 5, 1, 6}));
  EXPECT_EQ(v[0], 3);
}

TEST(Cumulate, RunsAlongTheMiddleAxis) {
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  std::byte* buffers[] = {bytes(x), bytes(y)};
  cumulate({buffers}, {.dtype = DType::I32, .outer = 2, .n = 2, .inner = 2, .what = Running::Sum});
  EXPECT_EQ(y, (std::vector<int32_t>{1, 2, 4, 6, 5, 6, 12, 14}));
  x = {3, 1, 4, 1, 5, 9, 2, 6};
  cumulate({buffers}, {.dtype = DType::I32, .outer = 1, .n = 8, .inner = 1, .what = Running::Maximum});
  EXPECT_EQ(y, (std::vector<int32_t>{3, 3, 4, 4, 5, 9, 9, 9}));
}

// Powers of two have exact sums, so 2^24 + 1 shows where terms are added.
TEST(Cumulate, AddsUpBlocks) {
  std::vector<float> x(3 * kRunningBlock, 0), y(x.size());
  std::byte* buffers[] = {bytes(x), bytes(y)};
  x[0] = 16777216;
  x[kRunningBlock] = x[kRunningBlock + 1] = 1;
  cumulate({buffers}, {.dtype = DType::F32, .outer = 1, .n = 3 * kRunningBlock, .inner = 1, .what = Running::Sum});
  EXPECT_EQ(y[kRunningBlock], 16777216.0f);
  EXPECT_EQ(y[kRunningBlock + 1], 16777218.0f);  // one by one they would be lost
  EXPECT_EQ(y.back(), 16777218.0f);
}

}  // namespace
}  // namespace sheaf::routines
