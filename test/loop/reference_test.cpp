// What the reference executor and the library routines say about the corners of their definitions.
#include "loop/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop/builder.h"
#include "loop/library.h"
#include "loop/scalar_ops.h"

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

// The bracketing of a sum, written out independently.
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

TEST(ScalarOps, AreTotal) {
  using namespace scalar;
  constexpr int32_t low = std::numeric_limits<int32_t>::min();
  EXPECT_EQ((apply<Op::Div>(low, -1)), low);
  EXPECT_EQ((apply<Op::Div>(5, 0)), 0);
  EXPECT_EQ((apply<Op::FloorDiv>(-7, 2)), -4);
  EXPECT_EQ((apply<Op::FloorMod>(-1, 5)), 4);
  EXPECT_EQ((apply<Op::FloorMod>(1, -5)), -4);
  EXPECT_EQ((apply<Op::FloorMod>(3, 0)), 0);
  EXPECT_EQ((apply<Op::Abs>(low)), low);
  EXPECT_EQ((apply<Op::Shl>(1, 33)), 2);
  EXPECT_EQ((apply<Op::Shr>(-1, 28)), 15);
  EXPECT_EQ((apply<Op::Sar>(-16, 2)), -4);
  EXPECT_EQ((apply<Op::Max>(kNaN, 2.0f)), 2.0f);
  EXPECT_EQ((apply<Op::Rint>(2.5f)), 2.0f);
  EXPECT_EQ((apply<Op::Round>(2.5f)), 3.0f);
  EXPECT_EQ((convert<int32_t>(kNaN)), 0);
  EXPECT_EQ((convert<int32_t>(3e9f)), std::numeric_limits<int32_t>::max());
  EXPECT_EQ((convert<uint32_t>(-1.0)), 0u);
  EXPECT_EQ((convert<uint32_t>(5e9)), 4294967295u);
  EXPECT_EQ((convert<int8_t>(300.0f)), 127);
  EXPECT_EQ((convert<int8_t>(300)), 44);
  EXPECT_EQ((convert<int64_t>(1e30)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((convert<bool>(kNaN)), true);
}

TEST(ScalarOps, NarrowFloatsEqualTensorConversions) {
  for (uint64_t u = 0; u < (uint64_t{1} << 32); u += 65521) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(u));
    ASSERT_EQ(scalar::to_bf16(x).bits, f32_to_bf16(x)) << u;
    ASSERT_EQ(scalar::to_f16(x).bits, f32_to_f16(x)) << u;
  }
  for (uint32_t h = 0; h < 65536; ++h) {
    float a = scalar::from_f16({static_cast<uint16_t>(h)}), b = f16_to_f32(static_cast<uint16_t>(h));
    ASSERT_TRUE(std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b)) << h;
  }
}

TEST(Library, SortIsStableWithNaNLast) {
  std::vector<float> x{3, kNaN, 1, 3, -0.0f, 0.0f, kNaN}, v(7);
  std::vector<int32_t> at(7);
  std::byte* buffers[] = {bytes(x), bytes(v), bytes(at)};
  std::vector<int64_t> args{static_cast<int64_t>(DType::F32), 1, 7, 0, 7};
  find_routine("sort")({buffers, args});
  EXPECT_EQ(at, (std::vector<int32_t>{4, 5, 2, 0, 3, 1, 6}));
  args[3] = 1;
  find_routine("sort")({buffers, args});
  EXPECT_EQ(at, (std::vector<int32_t>{0, 3, 2, 4, 5, 1, 6}));
  EXPECT_EQ(v[0], 3);
}

TEST(Library, CumulatesAlongTheMiddleAxis) {
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  std::byte* buffers[] = {bytes(x), bytes(y)};
  std::vector<int64_t> args{static_cast<int64_t>(DType::I32), 2, 2, 2, 0};
  find_routine("cumulate")({buffers, args});
  EXPECT_EQ(y, (std::vector<int32_t>{1, 2, 4, 6, 5, 6, 12, 14}));
  args = {static_cast<int64_t>(DType::I32), 1, 8, 1, 2};
  x = {3, 1, 4, 1, 5, 9, 2, 6};
  find_routine("cumulate")({buffers, args});
  EXPECT_EQ(y, (std::vector<int32_t>{3, 3, 4, 4, 5, 9, 9, 9}));
}

TEST(Library, UnknownRoutine) { EXPECT_EQ(find_routine("nothing"), nullptr); }

}  // namespace
}  // namespace sheaf::loop
