// Checks the expansions of elementary functions, run by HostBuilder, against the C library in a wider type.
#include "scalar/math/math_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "scalar/math/host_builder.h"
#include "scalar/math/log10.h"

namespace sheaf::scalar::math {
namespace {

using H = HostBuilder;
H host;

template <class T>
T value(Scalar<H, T> x) {
  return H::get<T>(x.v);
}
template <class T>
Scalar<H, T> lift(T x) {
  return {host, H::make(x)};
}

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

// |y - exact| in units of the last place near `exact`; 0 for equal special values, inf for different ones.
template <class T>
double ulps(T y, Wider<T> exact) {
  using Limits = std::numeric_limits<T>;
  T rounded = T(exact);
  if (std::isnan(rounded) || std::isnan(y)) return std::isnan(rounded) && std::isnan(y) ? 0 : INFINITY;
  if (rounded == y) return y == 0 && std::signbit(y) != std::signbit(rounded) ? INFINITY : 0;
  int e;
  std::frexp(exact, &e);
  if (std::isinf(exact) || (std::isinf(rounded) && e > Limits::max_exponent + 1)) return INFINITY;
  Wider<T> ulp = std::ldexp(Wider<T>(1), std::max(e, Limits::min_exponent) - Limits::digits);
  Wider<T> finite_y = std::isinf(y) ? std::copysign(std::ldexp(Wider<T>(1), Limits::max_exponent), Wider<T>(y)) : y;
  return double(std::fabs(finite_y - exact) / ulp);
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> v = {0,
                      L::denorm_min(),
                      3 * L::denorm_min(),
                      L::min() - L::denorm_min(),
                      L::min(),
                      L::epsilon(),
                      T(0.5),
                      T(1) - L::epsilon() / 2,
                      1,
                      T(1) + L::epsilon(),
                      T(1.5),
                      2,
                      3,
                      4,
                      10,
                      100,
                      L::max(),
                      L::infinity(),
                      L::quiet_NaN(),
                      std::bit_cast<T>(static_cast<Bits>(~Bits{0} >> 1))};  // the NaN that GPUs compute
  for (size_t i = 0, n = v.size(); i < n; ++i)
    v.push_back(-v[i]);
  return v;
}

// Every `step`-th float of both signs with |x| in [lo, hi], and the special values there.
template <class Visit>
void for_floats(float lo, float hi, uint32_t step, Visit visit) {
  uint32_t last = std::bit_cast<uint32_t>(hi);
  for (uint64_t i = std::bit_cast<uint32_t>(lo); i <= last; i += step) {
    visit(std::bit_cast<float>(uint32_t(i)));
    visit(std::bit_cast<float>(uint32_t(i) | 0x80000000u));
  }
  for (float x : special_values<float>())
    if (std::isnan(x) ? std::isinf(hi) : std::fabs(x) >= lo && std::fabs(x) <= hi) visit(x);
}

// Doubles of both signs: uniform bits over the whole range up to hi, and denser with exponents from -30 to 12.
template <class Visit>
void for_doubles(double hi, Visit visit) {
  std::mt19937_64 rng(7);
  uint64_t last = std::bit_cast<uint64_t>(hi);
  for (int i = 0; i < 60000; ++i) {
    double wide = std::bit_cast<double>(rng() % (last + 1));
    double near = std::ldexp(1 + double(rng() >> 11) * 0x1p-53, int(rng() % 43) - 30);
    for (double x : {wide, -wide, near, -near})
      if (std::fabs(x) <= hi) visit(x);
  }
  for (double x : special_values<double>())
    if (std::isnan(x) ? std::isinf(hi) : std::fabs(x) <= hi) visit(x);
}

template <class Ours, class Reference>
void expect_f32(double max_ulps, Ours ours, Reference reference, float hi = INFINITY) {
  double worst = 0;
  float at = 0;
  for_floats(0, hi, 1021, [&](float x) {
    double error = ulps<float>(value(ours(lift(x))), reference(double(x)));
    if (error > worst) worst = error, at = x;
  });
  EXPECT_LE(worst, max_ulps) << "at x = " << at;
}

template <class Ours, class Reference>
void expect_f64(double max_ulps, Ours ours, Reference reference, double hi = INFINITY) {
  double worst = 0, at = 0;
  for_doubles(hi, [&](double x) {
    double error = ulps<double>(value(ours(lift(x))), reference((long double)x));
    if (error > worst) worst = error, at = x;
  });
  EXPECT_LE(worst, max_ulps) << "at x = " << at;
  if (std::getenv("SHEAF_PRINT_ULPS")) std::printf("worst %.4f at %.17g\n", worst, at);
}

#define EXPECT_F32(bound, f, ...) \
  expect_f32(bound, [](auto x) { return f(x); }, [](auto x) { return std::f(x); } __VA_OPT__(, ) __VA_ARGS__)
#define EXPECT_F64(bound, f, ...) \
  expect_f64(bound, [](auto x) { return f(x); }, [](auto x) { return std::f(x); } __VA_OPT__(, ) __VA_ARGS__)

TEST(MathF32, Exp) { EXPECT_F32(1.1, exp); }
TEST(MathF32, Exp2) { EXPECT_F32(1.1, exp2); }
TEST(MathF32, Expm1) { EXPECT_F32(1.4, expm1); }
TEST(MathF32, Tanh) { EXPECT_F32(1.4, tanh); }
// Where the result is not denormal.
TEST(MathF32, Sigmoid) {
  expect_f32(
      2.4, [](auto x) { return sigmoid(select(x < -87.0f, -87.0f, x)); },
      [](auto x) { return 1 / (1 + std::exp(-std::max<decltype(x)>(x, -87))); });
}
TEST(MathF64, Sigmoid) {
  expect_f64(
      2.4, [](auto x) { return sigmoid(select(x < -700.0, -700.0, x)); },
      [](auto x) { return 1 / (1 + std::exp(-std::max<decltype(x)>(x, -700))); });
}
TEST(MathF32, Log) { EXPECT_F32(1.0, log); }
TEST(MathF32, Log2) { EXPECT_F32(1.1, log2); }
TEST(MathF32, Log10) { EXPECT_F32(1.1, log10); }
TEST(MathF32, Log1p) { EXPECT_F32(1.0, log1p); }
TEST(MathF32, Sin) { EXPECT_F32(1.3, sin, 1e5f); }
TEST(MathF32, Cos) { EXPECT_F32(1.3, cos, 1e5f); }
TEST(MathF32, Tan) { EXPECT_F32(1.5, tan, 1e5f); }
TEST(MathF32, Atan) { EXPECT_F32(1.5, atan); }
TEST(MathF32, Erf) { EXPECT_F32(1.5, erf); }

TEST(MathF64, Exp) { EXPECT_F64(1.5, exp); }
TEST(MathF64, Exp2) { EXPECT_F64(1.5, exp2); }
TEST(MathF64, Expm1) { EXPECT_F64(2, expm1); }
TEST(MathF64, Tanh) { EXPECT_F64(2, tanh); }
TEST(MathF64, Log) { EXPECT_F64(1.5, log); }
TEST(MathF64, Log2) { EXPECT_F64(1.5, log2); }
TEST(MathF64, Log10) { EXPECT_F64(1.5, log10); }
TEST(MathF64, Log1p) { EXPECT_F64(1.5, log1p); }
TEST(MathF64, Sin) { EXPECT_F64(1.5, sin, 0x1p48); }
TEST(MathF64, Cos) { EXPECT_F64(1.5, cos, 0x1p48); }
TEST(MathF64, Tan) { EXPECT_F64(2, tan, 0x1p48); }
TEST(MathF64, Atan) { EXPECT_F64(2, atan); }
TEST(MathF64, Erf) { EXPECT_F64(2, erf); }

TEST(MathF32, SinAndCosOfHugeArguments) {
  for_floats(1e5f, 0x1.fffffep127f, 1021, [](float x) {
    ASSERT_NEAR(value(sin(lift(x))), std::sin(double(x)), 1e-6) << x;
    ASSERT_NEAR(value(cos(lift(x))), std::cos(double(x)), 1e-6) << x;
  });
}

TEST(MathF64, SinAndCosOfHugeArguments) {
  for_doubles(0x1.fffffffffffffp1023, [](double x) {
    ASSERT_NEAR(value(sin(lift(x))), double(std::sin((long double)x)), 4e-16) << x;
    ASSERT_NEAR(value(cos(lift(x))), double(std::cos((long double)x)), 4e-16) << x;
  });
}

TEST(MathF32, TanIsNeverNaN) {
  for_floats(0, 0x1.fffffep127f, 1021, [](float x) { ASSERT_FALSE(std::isnan(value(tan(lift(x))))) << x; });
  EXPECT_FALSE(std::isnan(value(tan(lift(0x1.f37c8ap+95f)))));  // within 2^-31 of an odd multiple of pi/2
}

// Random arguments of every size, arguments whose power is in range, and all pairs of special values.
template <class T, class Visit>
void for_pairs(int count, Visit visit) {
  std::mt19937_64 rng(11);
  using U = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
  auto uniform = [&] { return double(rng() >> 11) * 0x1p-53; };
  double log_max = std::log(double(std::numeric_limits<T>::max()));
  for (int i = 0; i < count; ++i) {
    visit(std::bit_cast<T>(U(rng())), std::bit_cast<T>(U(rng())));
    T x = std::exp(T((uniform() * 2 - 1) * (i % 2 ? 2 : log_max)));
    visit(x, T((uniform() * 2.1 - 1.05) * log_max / std::log(double(x))));
    visit(T(1 + (uniform() - 0.5) * std::exp(-12 * uniform())), T((uniform() - 0.5) * 2000));
    visit(-x, T(int(rng() % 41) - 20));
  }
  auto values = special_values<T>();
  for (T x : {2.5, 5.0, 7.0, 1e9, 0x1p30})
    values.push_back(x), values.push_back(-x);
  for (T x : values)
    for (T y : values)
      visit(x, y);
}

template <class T, class Ours, class Reference>
void expect_binary(double max_ulps, int count, Ours ours, Reference reference) {
  double worst = 0;
  T at_x = 0, at_y = 0;
  for_pairs<T>(count, [&](T x, T y) {
    double error = ulps<T>(value(ours(lift(x), lift(y))), reference(Wider<T>(x), Wider<T>(y)));
    if (error > worst) worst = error, at_x = x, at_y = y;
  });
  EXPECT_LE(worst, max_ulps) << "at (" << at_x << ", " << at_y << ")";
  if (std::getenv("SHEAF_PRINT_ULPS")) std::printf("worst %.4f at %.17g %.17g\n", worst, double(at_x), double(at_y));
}
#define EXPECT_BINARY(T, bound, count, f) \
  expect_binary<T>(bound, count, [](auto x, auto y) { return f(x, y); }, [](auto x, auto y) { return std::f(x, y); })

TEST(MathF32, Pow) { EXPECT_BINARY(float, 1.5, 1000000, pow); }
TEST(MathF64, Pow) { EXPECT_BINARY(double, 2, 50000, pow); }
TEST(MathF32, Atan2) { EXPECT_BINARY(float, 1.5, 300000, atan2); }
TEST(MathF64, Atan2) { EXPECT_BINARY(double, 2, 50000, atan2); }

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

// Expected values: jax 0.10.2, seed 42, shape (4,).
TEST(Random, Uniform) {
  const float uniform[] = {0.48870957f, 0.6797972f, 0.6162715f, 0.5610161f};
  for (uint32_t i = 0; i < 4; ++i) {
    auto u = unit_uniform(random_bits32(threefry2x32(lift(0u), lift(42u), lift(0u), lift(i))));
    EXPECT_EQ(value(u), uniform[i]);
  }
}

TEST(Random, UniformF64) {
  const double uniform[] = {0.4267275666499091, 0.015010069515314584, 0.5741444178995352, 0.7298188969046309};
  for (uint32_t i = 0; i < 4; ++i) {
    auto u = unit_uniform(random_bits64(threefry2x32(lift(0u), lift(42u), lift(0u), lift(i))));
    EXPECT_EQ(value(u), uniform[i]);
  }
}

TEST(Random, NarrowUniform) {
  const float bf16[] = {0.6328125f, 0.84375f, 0.96875f, 0.8359375f};
  const float f16[] = {0.076171875f, 0.1904296875f, 0.9755859375f, 0.7568359375f};
  for (uint32_t i = 0; i < 4; ++i) {
    auto bits32 = random_bits32(threefry2x32(lift(0u), lift(42u), lift(0u), lift(i)));
    EXPECT_EQ(value(unit_uniform_bf16(bits32)), bf16[i]);
    EXPECT_EQ(value(unit_uniform_f16(bits32)), f16[i]);
  }
}

TEST(Random, ErfinvAtItsEnds) {
  EXPECT_EQ(value(erfinv(lift(1.0f))), INFINITY);
  EXPECT_EQ(value(erfinv(lift(-1.0f))), -INFINITY);
  EXPECT_EQ(value(erfinv(lift(-1.0))), -INFINITY);
  EXPECT_TRUE(std::isnan(value(erfinv(lift(1.5f)))));
  EXPECT_EQ(value(erfinv(lift(0.0f))), 0.0f);
  for (float x : {-0.999f, -0.5f, 1e-6f, 0.3f, 0.9999f})
    EXPECT_NEAR(std::erf(double(value(erfinv(lift(x))))), x, 1e-6);
}
}  // namespace
}  // namespace sheaf::scalar::math
