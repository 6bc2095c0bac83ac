// Floats: an f32 to programs, with all the digits of a double for f64.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "value/equal.h"
#include "value/print.h"
#include "value/value.h"

namespace sheaf {
namespace {

TEST(Number, KeepsAllDigitsOfADouble) {
  for (double d : {0.1, -0.7, 1.0 / 3, 16777217.0, 3.14159265358979312, 1e300, -1e300, 1e-300, 1e-40, 1e-45, 4e-46, 0.0,
                   -0.0, 1.5, 3.4028235677973366e38, 1.1754943508222874e-38}) {
    Value v = Value::floating_from(d);
    EXPECT_EQ(v.as_double(), d);
    EXPECT_EQ(std::signbit(v.as_double()), std::signbit(d));
    EXPECT_EQ(v.as_float(), static_cast<float>(d));
  }
  EXPECT_TRUE(std::isnan(Value::floating_from(NAN).as_double()));
  EXPECT_EQ(Value::floating_from(HUGE_VAL).as_double(), HUGE_VAL);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    double d = std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 300) - 200);
    ASSERT_EQ(Value::floating_from(d).as_double(), d);
    ASSERT_EQ(Value::floating_from(d).as_float(), static_cast<float>(d));
  }
}

TEST(Number, HasNoMoreDigitsThanItWasGiven) {
  EXPECT_FALSE(Value::floating(0.1f).has_more_digits());
  EXPECT_EQ(Value::floating(0.1f).as_double(), static_cast<double>(0.1f));
  EXPECT_FALSE(Value::floating_from(0.5).has_more_digits());
  EXPECT_TRUE(Value::floating_from(0.1).has_more_digits());
}

TEST(Number, IsAnF32ToPrograms) {
  EXPECT_EQ(render(Value::floating_from(0.1234567891)), "0.12345679");
  EXPECT_EQ(render(Value::floating_from(1e300)), "inf");
  EXPECT_TRUE(language_equal(Value::floating_from(0.1), Value::floating(0.1f)));
  EXPECT_TRUE(tree_equal(Value::floating_from(0.1), Value::floating(0.1f)));
}

}  // namespace
}  // namespace sheaf
