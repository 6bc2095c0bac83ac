// The reference executor at the corner cases of its definition.
#include "loop/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop/builder.h"

namespace sheaf::loop {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::byte* bytes(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

template <class Out>
Out reduce(std::vector<float> x, Combine combine, DType out) {
  Builder b("reduce");
  int in = b.buffer(DType::F32, false), to = b.buffer(out, true);
  auto k = b.begin_reduce(b.i64(static_cast<int64_t>(x.size())), combine);
  b.store(to, b.i64(0), b.end_reduce(b.load(in, k)));
  Kernel kernel = b.finish();
  verify(kernel);
  std::vector<Out> result(1);
  std::byte* buffers[] = {bytes(x), bytes(result)};
  CheckRecord check;
  run_reference(kernel, buffers, {}, check);
  return result[0];
}

TEST(Reference, ReductionsOfNothing) {
  EXPECT_EQ(reduce<float>({}, Combine::Sum, DType::F32), 0);
  EXPECT_EQ(reduce<float>({}, Combine::Prod, DType::F32), 1);
  EXPECT_EQ(reduce<float>({}, Combine::Max, DType::F32), -kInf);
  EXPECT_EQ(reduce<float>({}, Combine::Min, DType::F32), kInf);
  EXPECT_EQ(reduce<int64_t>({}, Combine::ArgMax, DType::I64), 0);
}

TEST(Reference, NaNWinsAndTheFirstOfEqualsStays) {
  EXPECT_TRUE(std::isnan(reduce<float>({1, kNaN, 3}, Combine::Max, DType::F32)));
  EXPECT_EQ(reduce<int64_t>({1, kNaN, 3, kNaN}, Combine::ArgMin, DType::I64), 1);
  EXPECT_EQ(reduce<int64_t>({1, 3, 3, 2}, Combine::ArgMax, DType::I64), 1);
  EXPECT_EQ(reduce<int64_t>({-0.0f, 0.0f}, Combine::ArgMax, DType::I64), 0);
  EXPECT_FALSE(std::signbit(reduce<float>({-0.0f, 0.0f}, Combine::Max, DType::F32)));
  EXPECT_TRUE(std::signbit(reduce<float>({0.0f, -0.0f}, Combine::Min, DType::F32)));
}

// The bracketing of a sum, implemented independently.
TEST(Reference, SumsInLanesAndBlocks) {
  std::vector<float> x(3 * kReduceBlock + 77);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i)) * 1e3f;
  auto block = [&](size_t begin) {
    float lanes[kReduceLanes] = {};
    for (size_t i = begin; i < std::min(x.size(), begin + kReduceBlock); ++i)
      lanes[i % kReduceLanes] += x[i];
    for (int half = 16; half; half /= 2)
      for (int i = 0; i < half; ++i)
        lanes[i] += lanes[i + half];
    return lanes[0];
  };
  float expected = (block(0) + block(kReduceBlock)) + (block(2 * kReduceBlock) + block(3 * kReduceBlock));
  EXPECT_EQ(reduce<float>(x, Combine::Sum, DType::F32), expected);
}

TEST(Reference, KeepsTheFirstFailedCheckAndGoesOn) {
  Builder b("check");
  int in = b.buffer(DType::I32, false), out = b.buffer(DType::I32, true);
  auto i = b.begin_loop(b.i64(4), Mark::Vector);
  auto x = b.load(in, i);
  b.check(b.ge(x, b.i32(0)), 7, i);
  b.check(b.le(x, b.i32(10)), 8, b.convert(x, DType::I64));
  b.store(out, i, x);
  b.end();
  Kernel kernel = b.finish();
  std::vector<int32_t> x_data{1, 20, -3, 4}, y(4);
  std::byte* buffers[] = {bytes(x_data), bytes(y)};
  CheckRecord check;
  run_reference(kernel, buffers, {}, check);
  EXPECT_EQ(check.site, 8);
  EXPECT_EQ(check.payload, 20);
  EXPECT_EQ(y, x_data);
}

}  // namespace
}  // namespace sheaf::loop
