#include <gtest/gtest.h>

#include <cmath>

#include "make_values.h"
#include "support/error.h"
#include "value/print.h"

namespace sheaf {
namespace {

using namespace testing_values;

std::string one(std::string_view format, Value v) { return format_text(format, {std::move(v)}); }

TEST(Format, Specification) {
  EXPECT_EQ(format_text("{} of {:.2f} {{ok}}", {I(7), F(2.345f)}), "7 of 2.35 {ok}");
  EXPECT_EQ(format_text("{}/{:.1f}", {I(3), f32({2.26, 9})}), "3/2.3");
  EXPECT_EQ(format_text("{} {}", {I(1)}), "1 {}");
  EXPECT_EQ(one("{} {unclosed", I(1)), "1 {unclosed");
  EXPECT_EQ(one("a } b {}", I(1)), "a } b 1");
  EXPECT_EQ(one("{.3f}", F(0.5f)), "0.500");
  EXPECT_EQ(one("{name}", F(0.5f)), "0.5");
  EXPECT_EQ(one("{:no such}", F(0.5f)), "0.5");
  EXPECT_EQ(one("{:.2f}", I(2)), "2.00");
  EXPECT_EQ(one("{:.2f}", S("s")), "s");
  EXPECT_EQ(one("{:.2f}", F(NAN)), "NaN");
  EXPECT_EQ(one("{:.2f}", F(INFINITY)), "inf");
  EXPECT_EQ(one("{:.2f}", F(-INFINITY)), "-inf");
  EXPECT_EQ(one("{:.1f}", f32({})), "[]");
  EXPECT_EQ(one("{}", L({S("a"), I(1)})), "['a', 1]");
  EXPECT_EQ(one("{:.2f}", traced(F(1.5f), "float")), "1.50");
}

TEST(Format, RoundsTheExactBinaryValue) {
  EXPECT_EQ(one("{:.0f}", F(0.5f)), "0");
  EXPECT_EQ(one("{:.0f}", F(1.5f)), "2");
  EXPECT_EQ(one("{:.0f}", F(2.5f)), "2");
  EXPECT_EQ(one("{:.2f}", F(1.005f)), "1.00");
  EXPECT_EQ(one("{:.1f}", F(0.25f)), "0.2");
  EXPECT_EQ(one("{:.1f}", F(0.35f)), "0.3");
  EXPECT_EQ(one("{:.10f}", F(0.1f)), "0.1000000015");
}

TEST(Format, PlainRenderingIsPadded) {
  EXPECT_EQ(one("{:>5}|", I(42)), "   42|");
  EXPECT_EQ(one("{:5}|", I(42)), "   42|");
  EXPECT_EQ(one("{:5}|", S("ab")), "ab   |");
  EXPECT_EQ(one("{:7}|", F(1.5f)), "    1.5|");
  EXPECT_EQ(one("{:<5}|", I(42)), "42   |");
  EXPECT_EQ(one("{:^6}|", S("ab")), "  ab  |");
  EXPECT_EQ(one("{:^5}|", S("ab")), " ab  |");
  EXPECT_EQ(one("{:*^7}|", S("abc")), "**abc**|");
  EXPECT_EQ(one("{:é>4}", I(1)), "ééé1");
  EXPECT_EQ(one("{:6}|", Value::boolean(true)), "true  |");
  EXPECT_EQ(one("{:8}|", f32({1, 2})), "[1. 2.] |");
  EXPECT_EQ(one("{:5}|", T(DType::F32, {}, {4})), "   4.|");
  EXPECT_EQ(one("{:6}|", S("重み")), "重み    |");  // code points, as in Python
  EXPECT_EQ(one("{:05}", I(-42)), "-0042");
  EXPECT_EQ(one("{:+}", I(3)), "+3");
  EXPECT_EQ(one("{: }", F(3)), " 3.0");
  EXPECT_EQ(one("{:,}", I(1234567)), "1,234,567");
  EXPECT_EQ(one("{:_}", I(1234567)), "1_234_567");
  EXPECT_EQ(one("{:,}", F(1234.5f)), "1,234.5");
  EXPECT_EQ(one("{:.2}", S("abcdef")), "ab");
  EXPECT_EQ(one("{:.1}", S("éa")), "é");
}

// Expected texts are Python's.
TEST(Format, TypesAsInPython) {
  EXPECT_EQ(one("{:d}", I(42)), "42");
  EXPECT_EQ(one("{:d}", F(3)), "3");
  EXPECT_EQ(one("{:d}", F(3.5f)), "3.5");
  EXPECT_EQ(one("{:4d}|", I(42)), "  42|");
  EXPECT_EQ(one("{:<4d}|", I(42)), "42  |");
  EXPECT_EQ(one("{:=+6d}|", I(42)), "+   42|");
  EXPECT_EQ(one("{:08,}", I(1234)), "0,001,234");
  EXPECT_EQ(one("{:,d}", I(-1234567)), "-1,234,567");
  EXPECT_EQ(one("{:d}", I(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(one("{:d}", T(DType::I32, {}, {5})), "5");
  EXPECT_EQ(one("{:e}", F(12345.5f)), "1.234550e+04");
  EXPECT_EQ(one("{:.2e}", I(0)), "0.00e+00");
  EXPECT_EQ(one("{:.3E}", F(0.00015f)), "1.500E-04");
  EXPECT_EQ(one("{:g}", F(0.0001f)), "0.0001");
  EXPECT_EQ(one("{:g}", F(0.00001f)), "1e-05");
  EXPECT_EQ(one("{:g}", F(1e6f)), "1e+06");
  EXPECT_EQ(one("{:g}", I(100000)), "100000");
  EXPECT_EQ(one("{:.3g}", f32({1234.5, 2})), "1.23e+03");
  EXPECT_EQ(one("{:#.4g}", F(2)), "2.000");
  EXPECT_EQ(one("{:#.0f}", F(2)), "2.");
  EXPECT_EQ(one("{:#.0e}", F(2)), "2.e+00");
  EXPECT_EQ(one("{:.3}", F(3.14159f)), "3.14");
  EXPECT_EQ(one("{:.3}", F(3)), "3.0");
  EXPECT_EQ(one("{:.1%}", F(0.256f)), "25.6%");
  EXPECT_EQ(one("{:%}", I(1)), "100.000000%");
  EXPECT_EQ(one("{:+.2f}", F(1.5f)), "+1.50");
  EXPECT_EQ(one("{:08.2f}", F(-3.14159f)), "-0003.14");
  EXPECT_EQ(one("{:>10.3f}|", F(2.5f)), "     2.500|");
  EXPECT_EQ(one("{:,.2f}", F(1234567.5f)), "1,234,567.50");
  EXPECT_EQ(one("{:012,.1f}", F(1234.5f)), "00,001,234.5");
  EXPECT_EQ(one("{:.1f}", F(-0.04f)), "-0.0");
  EXPECT_EQ(one("{:s}", S("ab")), "ab");
  EXPECT_EQ(one("{:>4s}", S("ab")), "  ab");
  EXPECT_EQ(one("{:x}", I(255)), "ff");
  EXPECT_EQ(one("{:#06X}", I(255)), "0X00FF");
  EXPECT_EQ(one("{:b}", I(5)), "101");
  EXPECT_EQ(one("{:#o}", I(8)), "0o10");
}

TEST(Format, HugeNumbersInSpecsAreErrors) {
  EXPECT_THROW(one("{:99999999999999999999}", I(1)), UserError);
  EXPECT_THROW(one("{:.99999999999999999999f}", I(1)), UserError);
  EXPECT_EQ(one("{:.400f}", F(0)).size(), 402u);
}

TEST(Format, Recognised) {
  EXPECT_TRUE(looks_like_format("a {} b"));
  EXPECT_TRUE(looks_like_format("{:d}"));
  EXPECT_FALSE(looks_like_format("{name}"));
  EXPECT_FALSE(looks_like_format("plain"));
}

}  // namespace
}  // namespace sheaf
