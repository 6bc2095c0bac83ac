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
  std::vector<int64_t> args{static_cast<int64_t>(DType::F32), 1, 7, 0, 7};
  sort({buffers, args});
  EXPECT_EQ(at, (std::vector<int32_t>{4, 5, 2, 0, 3, 1, 6}));
  args[3] = 1;
  sort({buffers, args});
  EXPECT_EQ(at, (std::vector<int32_t>{0, 3, 2, 4, 5, 1, 6}));
  EXPECT_EQ(v[0], 3);
}

TEST(Cumulate, RunsAlongTheMiddleAxis) {
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  std::byte* buffers[] = {bytes(x), bytes(y)};
  std::vector<int64_t> args{static_cast<int64_t>(DType::I32), 2, 2, 2, 0};
  cumulate({buffers, args});
  EXPECT_EQ(y, (std::vector<int32_t>{1, 2, 4, 6, 5, 6, 12, 14}));
  args = {static_cast<int64_t>(DType::I32), 1, 8, 1, 2};
  x = {3, 1, 4, 1, 5, 9, 2, 6};
  cumulate({buffers, args});
  EXPECT_EQ(y, (std::vector<int32_t>{3, 3, 4, 4, 5, 9, 9, 9}));
}

}  // namespace
}  // namespace sheaf::routines
