// Elementwise ops against their plain formula in double, in every dtype they take, and what has no formula against
// another definition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "compiler/eager.h"
#include "op_cases.h"
#include "tolerance.h"

namespace sheaf::ops {
namespace {

Tensor run(const OpDef& op, const std::vector<Tensor>& in, const Attrs& attrs = {}) {
  return compiler::run_op(op, in, attrs, op.infer({types_of(in), attrs}))[0];
}

bool is_predicate(const OpDef& d) {
  return d.infer({std::vector<TensorType>(2, {DType::F32, {}}), {}})[0].dtype == DType::Bool;
}

void expect_near(const OpDef& op, DType dtype, double expected, double actual, const std::string& what) {
  std::string where = std::string(op.name) + " " + std::string(sheaf::name_of(dtype)) + what;
  if (is_predicate(op)) {
    EXPECT_EQ(expected, actual) << where;
  } else if (dtype == DType::Bool) {
    EXPECT_EQ(expected != 0, actual != 0) << where;
  } else if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << where << ": " << actual;
  } else if (is_float(dtype) && std::fabs(expected) > largest(dtype)) {
    // Infinite, or so near the largest number that rounding decides.
    EXPECT_TRUE(std::fabs(actual) >= largest(dtype) && std::signbit(actual) == std::signbit(expected))
        << where << ": " << actual;
  } else {
    // erfinv is XLA's approximation, so that random numbers are JAX's (scalar/math/special.h).
    EXPECT_NEAR(expected, actual, tolerance(dtype, expected) * (op.name == "erfinv" ? 16 : 1)) << where;
  }
}

std::string arguments(double a) { return fmt::format("({:.17g})", a); }
std::string arguments(double a, double b) { return fmt::format("({:.17g}, {:.17g})", a, b); }

// Where the formula in double does not say what happens: a zero divisor and a result that wraps.
bool outside(const OpDef& op, DType dtype, double a, double b, double expected) {
  if (is_float(dtype)) return false;
  if (dtype == DType::Bool) return op.name == "sub";  // exclusive or
  if ((op.name == "floor_div" || op.name == "mod") && b == 0) return true;
  double lo = dtype == DType::U32 ? 0 : -0x1p31, hi = dtype == DType::U32 ? 0x1p32 : 0x1p31;
  return expected < lo || expected >= hi;
}

class Numeric : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Numeric, IsNearTheFormula) {
  const OpDef& op = *GetParam();
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (DType dtype : dtypes_of(op)) {
    if (is_storage_only(dtype)) continue;
    double lo = op.domain.lo, hi = op.domain.hi;
    if (!is_float(dtype)) lo = -50, hi = 50;
    Tensor a = uniform_tensor(rng, dtype, {1009}, lo, hi), b = uniform_tensor(rng, dtype, {1009}, lo, hi);
    if (op.reference1) {
      Tensor y = run(op, {a});
      for (int64_t i = 0; i < 1009 && !HasFailure(); ++i) {
        double x = element_as_double(a, i), expected = op.reference1(x);
        if (!outside(op, dtype, x, 0, expected))
          expect_near(op, dtype, expected, element_as_double(y, i), arguments(x));
      }
    } else {
      Tensor y = run(op, {a, b});
      for (int64_t i = 0; i < 1009 && !HasFailure(); ++i) {
        double x0 = element_as_double(a, i), x1 = element_as_double(b, i), expected = op.reference2(x0, x1);
        if (op.name == "mod" && is_float(dtype)) {
          // The quotient is the large number here: an error of one in it is the divisor in the result.
          double actual = element_as_double(y, i), error = std::fabs(actual - expected);
          EXPECT_LE(std::min(error, std::fabs(error - std::fabs(x1))), tolerance(dtype, 8)) << arguments(x0, x1);
          continue;
        }
        if (op.name == "floor_div" && is_float(dtype) &&
            std::fabs(x0 / x1 - std::round(x0 / x1)) < tolerance(dtype, x0 / x1) * 2)
          continue;
        if (!outside(op, dtype, x0, x1, expected))
          expect_near(op, dtype, expected, element_as_double(y, i), arguments(x0, x1));
      }
    }
  }
}

// 0, -0, infinities, NaN and the least numbers, in all pairs.
TEST_P(Numeric, HandlesSpecialValues) {
  const OpDef& op = *GetParam();
  if (op.name == "erfinv") return;  // Newton's method does not reach the ends; the tests of scalar/math do
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double special[] = {0.0, -0.0, 1.0, -1.0, inf, -inf, std::nan(""), 0.5, -2.0, 3.0};
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
    for (double x0 : special)
      for (double x1 : special) {
        Tensor a = empty_tensor(dtype, {1}), b = empty_tensor(dtype, {1});
        store_double(dtype, a.bytes_mut(), x0);
        store_double(dtype, b.bytes_mut(), x1);
        double expected = op.reference1 ? op.reference1(x0) : op.reference2(x0, x1);
        double actual = element_as_double(op.reference1 ? run(op, {a}) : run(op, {a, b}), 0);
        expect_near(op, dtype, expected, actual, arguments(x0, x1));
      }
  }
}

std::vector<const OpDef*> ops_with_formula() {
  std::vector<const OpDef*> out;
  for (const OpDef* d : all_ops())
    if (d->reference1 || d->reference2) out.push_back(d);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Ops, Numeric, ::testing::ValuesIn(ops_with_formula()),
                         [](const auto& info) { return std::string(info.param->name); });

// The distance from the exact result in units of the last place of the nearest float.
double ulps(float actual, double exact) {
  if (std::isnan(exact) || std::isnan(actual)) return std::isnan(exact) == std::isnan(actual) ? 0 : HUGE_VAL;
  auto nearest = static_cast<float>(exact);
  if (std::isinf(actual) || std::isinf(nearest)) return actual == nearest ? 0 : HUGE_VAL;
  if (actual == 0 && nearest == 0) return std::signbit(actual) == std::signbit(nearest) ? 0 : HUGE_VAL;
  int exponent;
  std::frexp(nearest, &exponent);
  return std::fabs(actual - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

// All floats are too many: every 21467th of both signs, and the special ones.
TEST(Elementary, IsAsNearAsTheEntrySays) {
  constexpr uint32_t kStep = 21467;
  std::vector<float> x;
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += kStep)
    for (uint32_t sign : {0u, 0x80000000u})
      x.push_back(std::bit_cast<float>(bits | sign));
  for (float special : {0.0f, -0.0f, 1.0f, -1.0f, HUGE_VALF, -HUGE_VALF, std::nanf(""), 0x1p-149f, -0x1p-149f,
                        0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f})
    x.push_back(special);
  Tensor in = tensor_of(DType::F32, {static_cast<int64_t>(x.size())}, x.data());
  int checked = 0;
  for (const OpDef* d : all_ops()) {
    if (d->ulps == 0) continue;
    ++checked;
    Tensor y = run(*d, {in});
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (double error = ulps(y.data<float>()[i], d->reference1(x[i])); error > worst) worst = error, at = x[i];
    EXPECT_LE(worst, d->ulps) << d->name << fmt::format(" of {:.9g}", at);
    if (std::getenv("SHEAF_PRINT_ULPS")) fmt::print("{} {:.3f} of {:.9g}\n", d->name, worst, at);
  }
  EXPECT_GT(checked, 5);
}

// Conversions between all pairs of dtypes, against the conversion of the tensor layer.
TEST(Cast, EqualsTheTensorLayer) {
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (int from = 0; from < kNumDTypes; ++from)
    for (int to = 0; to < kNumDTypes; ++to) {
      if (is_complex(static_cast<DType>(from)) || is_complex(static_cast<DType>(to))) continue;  // complex_test
      Tensor x = wild_tensor(rng, static_cast<DType>(from), {521});
      DType t = static_cast<DType>(to);
      SCOPED_TRACE(std::string(sheaf::name_of(x.dtype)) + " to " + std::string(sheaf::name_of(t)));
      EXPECT_TRUE(same_bits(cast_tensor(x, t), run(op("cast"), {x}, {{"dtype", t}})));
    }
}

template <class T>
void expect_bit_ops(DType dtype, Rng& rng) {
  using U = std::make_unsigned_t<T>;
  Tensor a = wild_tensor(rng, dtype, {257}), b = wild_tensor(rng, dtype, {257});
  auto check = [&](const char* name, auto&& formula) {
    Tensor y = run(op(name), {a, b});
    for (int64_t i = 0; i < 257; ++i) {
      T p = a.data<T>()[i], q = b.data<T>()[i];
      ASSERT_EQ(formula(p, q), y.data<T>()[i]) << name << " " << sheaf::name_of(dtype) << " " << p << " " << q;
    }
  };
  constexpr int kMask = sizeof(T) * 8 - 1;
  check("bit_and", [](T p, T q) { return static_cast<T>(p & q); });
  check("bit_or", [](T p, T q) { return static_cast<T>(p | q); });
  check("bit_xor", [](T p, T q) { return static_cast<T>(p ^ q); });
  check("shift_left", [](T p, T q) { return static_cast<T>(static_cast<U>(p) << (q & kMask)); });
  check("shift_right", [](T p, T q) { return static_cast<T>(static_cast<U>(p) >> (q & kMask)); });
  check("shift_right_signed",
        [](T p, T q) { return static_cast<T>(static_cast<std::make_signed_t<T>>(p) >> (q & kMask)); });
  check("add", [](T p, T q) { return static_cast<T>(static_cast<U>(p) + static_cast<U>(q)); });
  check("sub", [](T p, T q) { return static_cast<T>(static_cast<U>(p) - static_cast<U>(q)); });
  check("mul", [](T p, T q) { return static_cast<T>(static_cast<U>(p) * static_cast<U>(q)); });
  Tensor y = run(op("bit_not"), {a});
  for (int64_t i = 0; i < 257; ++i)
    ASSERT_EQ(static_cast<T>(~a.data<T>()[i]), y.data<T>()[i]);
  Tensor zero = zeros_tensor(dtype, {1});
  for (const char* name : {"floor_div", "mod"}) {
    Tensor z = run(op(name), {a, zero});
    for (int64_t i = 0; i < 257; ++i)
      ASSERT_EQ(z.data<T>()[i], 0) << name;
  }
}

TEST(Integers, WrapAndShiftModuloTheWidth) {
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  expect_bit_ops<int32_t>(DType::I32, rng);
  expect_bit_ops<int64_t>(DType::I64, rng);
  expect_bit_ops<uint32_t>(DType::U32, rng);
}

TEST(Integers, BoolArithmeticIsLogic) {
  bool values[] = {false, false, true, true}, others[] = {false, true, false, true};
  Tensor a = tensor_of(DType::Bool, {4}, values), b = tensor_of(DType::Bool, {4}, others);
  Tensor sum = run(op("add"), {a, b}), difference = run(op("sub"), {a, b}), product = run(op("mul"), {a, b});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sum.data<bool>()[i], values[i] || others[i]);
    EXPECT_EQ(difference.data<bool>()[i], values[i] != others[i]);
    EXPECT_EQ(product.data<bool>()[i], values[i] && others[i]);
  }
}

template <class T>
void expect_next(DType dtype, Rng& rng) {
  Tensor x = wild_tensor(rng, dtype, {521});
  for (bool up : {false, true}) {
    Tensor y = run(op("next_after"), {x}, {{"dtype", dtype}, {"up", up}});
    for (int64_t i = 0; i < 521; ++i) {
      T v = x.data<T>()[i], to = up ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
      ASSERT_TRUE(v != v || std::nextafter(v, to) == y.data<T>()[i]) << v;
    }
  }
}

TEST(NextAfter, EqualsTheLibrary) {
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  expect_next<float>(DType::F32, rng);
  expect_next<double>(DType::F64, rng);
}

TEST(OffsetFromBits, IsTheRemainder) {
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (int trial = 0; trial < 300; ++trial) {
    uint32_t high = static_cast<uint32_t>(rng.bits()), low = static_cast<uint32_t>(rng.bits());
    uint32_t span = trial % 10 == 0  ? 0
                    : trial % 3 == 0 ? static_cast<uint32_t>(rng.bits())
                                     : 1 + static_cast<uint32_t>(rng.below(1000));
    uint32_t expected = low;
    if (span) {
      uint32_t root = 65536u % span, multiplier = root * root % span;
      expected = (high % span * multiplier + low % span) % span;
    }
    Tensor y = run(op("offset_from_bits"), {tensor_of(DType::U32, {}, &high), tensor_of(DType::U32, {}, &low),
                                            tensor_of(DType::U32, {}, &span)});
    ASSERT_EQ(expected, *y.data<uint32_t>()) << high << " " << low << " " << span;
    uint64_t high64 = rng.bits(), low64 = rng.bits(), span64 = trial % 2 ? rng.bits() : span;
    uint64_t expected64 = low64;
    if (span64) {
      uint64_t root = (uint64_t{1} << 32) % span64, multiplier = root * root % span64;
      expected64 = (high64 % span64 * multiplier + low64 % span64) % span64;
    }
    auto word = [](uint64_t w) {
      int64_t i = static_cast<int64_t>(w);
      return tensor_of(DType::I64, {}, &i);
    };
    y = run(op("offset_from_bits"), {word(high64), word(low64), word(span64)});
    ASSERT_EQ(expected64, static_cast<uint64_t>(*y.data<int64_t>())) << high64 << " " << low64 << " " << span64;
  }
}

// Reductions and contractions against long double, within the tolerance for their length.
TEST(Reduce, IsNearTheSumInHigherPrecision) {
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (int64_t n : {0, 1, 2, 3, 31, 257, 5003}) {
      Tensor x = uniform_tensor(rng, dtype, {n}, -1, 1);
      long double sum = 0, magnitude = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += element_as_double(x, i), magnitude += std::fabs(element_as_double(x, i));
      Tensor y = run(op("sum"), {x}, {{"axes", Sizes{Size(0)}}, {"keepdims", false}});
      EXPECT_NEAR(static_cast<double>(sum), element_as_double(y, 0), tolerance(dtype, static_cast<double>(magnitude)))
          << n << " " << sheaf::name_of(dtype);
      Tensor p =
          run(op("product"), {uniform_tensor(rng, dtype, {n}, 1, 1)}, {{"axes", Sizes{Size(0)}}, {"keepdims", false}});
      EXPECT_EQ(element_as_double(p, 0), 1);
    }
}

TEST(Dot, IsNearTheSumInHigherPrecision) {
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (int64_t k : {0, 1, 3, 257, 1031}) {
      Tensor a = uniform_tensor(rng, dtype, {2, 3, k}, -1, 1), b = uniform_tensor(rng, dtype, {2, k, 5}, -1, 1);
      Tensor y = run(op("dot"), {a, b});
      for (int64_t i = 0; i < y.num_elems(); ++i) {
        int64_t batch = i / 15, row = i / 5 % 3, column = i % 5;
        long double sum = 0, magnitude = 0;
        for (int64_t j = 0; j < k; ++j) {
          double term =
              element_as_double(a, (batch * 3 + row) * k + j) * element_as_double(b, (batch * k + j) * 5 + column);
          sum += term;
          magnitude += std::fabs(term);
        }
        EXPECT_NEAR(static_cast<double>(sum), element_as_double(y, i), tolerance(dtype, static_cast<double>(magnitude)))
            << k << " " << sheaf::name_of(dtype);
      }
    }
}

}  // namespace
}  // namespace sheaf::ops
