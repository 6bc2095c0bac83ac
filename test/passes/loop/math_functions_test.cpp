// Checks the expansions of elementary functions, run by HostBuilder, against the C library in a wider type.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "passes/loop/host_builder.h"
#include "passes/loop/math_functions.h"

namespace sheaf::passes::math {
namespace {

using H = HostBuilder;
using F32 = Scalar<H, float>;
using U32 = Scalar<H, uint32_t>;
H host;

float value(F32 x) { return H::get<float>(x.v); }
uint32_t value(U32 x) { return H::get<uint32_t>(x.v); }
F32 lift(float x) { return {host, H::f32(x)}; }
U32 lift(uint32_t x) { return {host, H::u32(x)}; }

// |y - exact| in units of the last place of a float near `exact`; 0 for equal special values, inf for different ones.
double ulps(float y, double exact) {
  float rounded = float(exact);
  if (std::isnan(rounded) || std::isnan(y)) return std::isnan(rounded) && std::isnan(y) ? 0 : INFINITY;
  if (rounded == y) return (y == 0 && std::signbit(y) != std::signbit(rounded)) ? INFINITY : 0;
  if (std::isinf(rounded)) return 0x1.fffffep127f <= std::fabs(y) && std::fabs(exact) < 0x1.000001p128 ? 1 : INFINITY;
  if (std::isinf(y)) return std::fabs(exact) > 0x1.fffffdp127 ? 1 : INFINITY;
  int e;
  std::frexp(exact, &e);
  return std::fabs(double(y) - exact) / std::ldexp(1.0, std::max(e, -125) - 24);
}

// Every `step`-th float of both signs with |x| in [lo, hi], and the special values.
template <class Visit>
void for_floats(float lo, float hi, uint32_t step, Visit visit) {
  uint32_t first = std::bit_cast<uint32_t>(lo), last = std::bit_cast<uint32_t>(hi);
  for (uint64_t i = first; i <= last; i += step) {
    visit(std::bit_cast<float>(uint32_t(i)));
    visit(std::bit_cast<float>(uint32_t(i) | 0x80000000u));
  }
  for (float x : {0.0f, 0x1p-149f, 0x1.8p-148f, 0x1.fffffcp-127f, 0x1p-126f, 0.5f, 1.0f, 2.0f, 3.0f, 10.0f, 0x1.fffffep127f,
                  INFINITY, NAN})
    if (std::isnan(x) ? std::isinf(hi) : std::fabs(x) >= lo && std::fabs(x) <= hi) visit(x), visit(-x);
}

template <class Ours, class Reference>
void expect_within(double max_ulps, Ours ours, Reference reference, float hi = INFINITY, uint32_t step = 1021) {
  double worst = 0;
  float at = 0;
  for_floats(0, hi, step, [&](float x) {
    double error = ulps(value(ours(lift(x))), reference(double(x)));
    if (error > worst) worst = error, at = x;
  });
  EXPECT_LE(worst, max_ulps) << "at x = " << at;
}
#define EXPECT_ULPS(bound, f, ...) \
  expect_within(bound, [](auto x) { return f(x); }, [](auto x) { return std::f(x); } __VA_OPT__(, ) __VA_ARGS__)

TEST(MathF32, Exp) { EXPECT_ULPS(1.1, exp); }
TEST(MathF32, Exp2) { EXPECT_ULPS(1.1, exp2); }
TEST(MathF32, Expm1) { EXPECT_ULPS(1.4, expm1); }
TEST(MathF32, Tanh) { EXPECT_ULPS(1.4, tanh); }
TEST(MathF32, Log) { EXPECT_ULPS(1.0, log); }
TEST(MathF32, Log2) { EXPECT_ULPS(1.0, log2); }
TEST(MathF32, Log1p) { EXPECT_ULPS(1.0, log1p); }
TEST(MathF32, Sin) { EXPECT_ULPS(1.2, sin, 1e5f); }
TEST(MathF32, Cos) { EXPECT_ULPS(1.2, cos, 1e5f); }
TEST(MathF32, Tan) { EXPECT_ULPS(1.5, tan, 1e5f); }

TEST(MathF32, SinAndCosOfHugeArguments) {
  for_floats(1e5f, 0x1.fffffep127f, 1021, [](float x) {
    ASSERT_NEAR(value(sin(lift(x))), std::sin(double(x)), 1e-6) << x;
    ASSERT_NEAR(value(cos(lift(x))), std::cos(double(x)), 1e-6) << x;
  });
}

TEST(Threefry, KnownAnswers) {  // from Random123's kat_vectors
  auto expect = [](uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1) {
    auto [a, b] = threefry2x32(lift(k0), lift(k1), lift(x0), lift(x1));
    EXPECT_EQ(value(a), y0);
    EXPECT_EQ(value(b), y1);
  };
  expect(0, 0, 0, 0, 0x6b200159u, 0x99ba4efeu);
  expect(~0u, ~0u, ~0u, ~0u, 0x1cb996fcu, 0xbb002be7u);
  expect(0x13198a2eu, 0x03707344u, 0x243f6a88u, 0x85a308d3u, 0xc4923a9cu, 0x483df7a0u);
  // The same words are what splitting the key of seed 42 in two gives.
  expect(0, 42, 0, 0, 1832780943u, 270669613u);
  expect(0, 42, 0, 1, 64467757u, 2916123636u);
}

}  // namespace
}  // namespace sheaf::passes::math
