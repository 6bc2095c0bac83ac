// The corners of the scalar operations.
#include "scalar/scalar_ops.h"

#include <gtest/gtest.h>

#include <limits>

namespace sheaf::scalar {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(ScalarOps, AreTotal) {
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
  EXPECT_TRUE(std::isnan(apply<Op::Max>(kNaN, 2.0f)));
  EXPECT_TRUE(std::isnan(apply<Op::Max>(2.0f, kNaN)));
  EXPECT_TRUE(std::isnan(apply<Op::Min>(double{kNaN}, 2.0)));
  EXPECT_TRUE(std::isnan(apply<Op::Min>(2.0, double{kNaN})));
  EXPECT_TRUE(std::signbit(apply<Op::Min>(0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(apply<Op::Max>(-0.0f, 0.0f)));
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

}  // namespace
}  // namespace sheaf::scalar
