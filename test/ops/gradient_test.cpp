// The gradient of every differentiable op against central differences in f64, along random directions: <w, J v> by
// differences must equal <Jᵀ w, v> from the rules. The second and third derivative are checked the same way, by taking
// the gradient for the function. Narrow types are compared with the gradient in f64.
#include <gtest/gtest.h>

#include "op_cases.h"
#include "ops/apply.h"
#include "random_program.h"
#include "tolerance.h"
#include "trace/traced.h"
#include "transforms/vjp.h"

namespace sheaf::ops {
namespace {

using Operands = std::vector<Operand>;
using Function = std::function<Operands(const Operands&)>;

// Of the floats among inputs or outputs.
std::vector<Tensor> random_like(Rng& rng, const Operands& xs) {
  std::vector<Tensor> out;
  for (const Operand& x : xs)
    out.push_back(uniform_tensor(rng, x.dtype(), to_dims(x.sizes()), -1, 1));
  return out;
}

double inner(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.num_elems(); ++i)
    sum += element_as_double(a, i) * element_as_double(b, i);
  return sum;
}

// x + h v, with the layout of x.
Tensor moved(const Tensor& x, double h, const Tensor& v, Storage how) {
  Tensor out = copy_of(x);
  for (int64_t i = 0; i < out.num_elems(); ++i)
    out.data_mut<double>()[i] += h * element_as_double(v, i);
  return stored_as(out, how);
}

Operands as_operands(const std::vector<Tensor>& ts) { return {ts.begin(), ts.end()}; }

// The adjoints of the float inputs of f, for the adjoints w of its outputs.
Operands adjoints(const Function& f, const Operands& xs, const std::vector<Tensor>& w, bool record) {
  Operands leaves;
  for (const Operand& x : xs)
    leaves.push_back(trace::make_leaf(x));
  Operands g = transforms::vjp(f(leaves), as_operands(w), leaves, record);
  for (size_t i = 0; i < g.size(); ++i)
    if (!g[i]) g[i] = zeros(xs[i].type());
  return g;
}

Function gradient(Function f, std::vector<Tensor> w) {
  return [f = std::move(f), w = std::move(w)](const Operands& xs) { return adjoints(f, xs, w, true); };
}

// The largest is not much larger than one, so one relative tolerance does: the error of the differences is about h²
// times the third derivative, and 2^-53 / h times the value.
constexpr double kStep = 1e-6, kTolerance = 2e-6;

void expect_vjp_matches(const Function& f, const std::vector<Tensor>& x, Storage how, Rng& rng) {
  std::vector<Tensor> v = random_like(rng, as_operands(x)), at, above, below;
  for (size_t i = 0; i < x.size(); ++i) {
    at.push_back(stored_as(x[i], how));
    above.push_back(moved(x[i], kStep, v[i], how));
    below.push_back(moved(x[i], -kStep, v[i], how));
  }
  Operands up = f(as_operands(above)), down = f(as_operands(below));
  std::vector<Tensor> w = random_like(rng, up);
  double expected = 0, actual = 0, magnitude = 1;
  for (size_t i = 0; i < w.size(); ++i) {
    double term = (inner(w[i], up[i].value()) - inner(w[i], down[i].value())) / (2 * kStep);
    expected += term;
    magnitude += std::fabs(term);
    for (int64_t k = 0; k < w[i].num_elems(); ++k)
      magnitude = std::max(magnitude, std::fabs(element_as_double(up[i].value(), k)));
  }
  Operands g = adjoints(f, as_operands(at), w, false);
  for (size_t i = 0; i < g.size(); ++i) {
    ASSERT_EQ(to_dims(g[i].sizes()), x[i].sizes) << "shape of adjoint " << i;
    actual += inner(g[i].value(), v[i]);
  }
  EXPECT_NEAR(expected, actual, kTolerance * magnitude);
}

// The op as a function of its float inputs; the others are fixed.
Function function_of(const OpDef& op, const Attrs& attrs, const std::vector<Tensor>& in) {
  return [&op, attrs, in](const Operands& floats) {
    Operands all;
    size_t next = 0;
    for (const Tensor& t : in)
      all.push_back(is_float(t.dtype) ? floats[next++] : Operand(t));
    Operands out;
    for (Operand& o : graph::apply_all(op, std::move(all), attrs))
      if (is_float(o.dtype())) out.push_back(std::move(o));
    return out;
  };
}

std::vector<Tensor> floats_of(const std::vector<Tensor>& in) {
  std::vector<Tensor> out;
  for (const Tensor& t : in)
    if (is_float(t.dtype)) out.push_back(t);
  return out;
}

// Between floats: a cast to a narrow type is a staircase, for which differences are meaningless.
bool is_smooth(const OpDef& op, const OpCase& c) {
  return op.name != "cast" || c.attrs.get<DType>("dtype") == DType::F64;
}

class Gradient : public ::testing::TestWithParam<const OpDef*> {
 protected:
  static void SetUpTestSuite() { trace::install(); }

  template <class F>
  void for_each_case(DType dtype, F&& f) {
    Rng rng(test_seed());
    for (const OpCase& c : cases_of(*GetParam(), dtype, Data::Smooth)) {
      if (!is_smooth(*GetParam(), c)) continue;
      SCOPED_TRACE(c.label + " SHEAF_SEED=" + std::to_string(rng.seed));
      f(c, rng);
      if (HasFailure()) return;
    }
  }
  void check_order(int order) {
    for_each_case(DType::F64, [&](const OpCase& c, Rng& rng) {
      std::vector<Tensor> in = c.make(rng), x = floats_of(in);
      Function f = function_of(*GetParam(), c.attrs, in);
      for (int k = 1; k < order; ++k) {
        std::vector<Tensor> w = random_like(rng, f(as_operands(x)));
        f = gradient(f, w);
      }
      expect_vjp_matches(f, x, Storage::Contiguous, rng);
    });
  }
};

TEST_P(Gradient, MatchesDifferences) { check_order(1); }
TEST_P(Gradient, SecondOrderMatchesDifferences) { check_order(2); }
TEST_P(Gradient, ThirdOrderMatchesDifferences) { check_order(3); }

// Inputs that are views: the rules read them and return adjoints of their sizes.
TEST_P(Gradient, OfViewsMatchesDifferences) {
  for_each_case(DType::F64, [&](const OpCase& c, Rng& rng) {
    std::vector<Tensor> in = c.make(rng), x = floats_of(in);
    for (Storage how : {Storage::Transposed, Storage::Stepped, Storage::Flipped})
      expect_vjp_matches(function_of(*GetParam(), c.attrs, in), x, how, rng);
  });
}

// The size of the terms whose sum is an adjoint, for each input: the sum itself may be far smaller if they cancel, but
// its rounding error is that of the terms. With other signs of the outputs' adjoints other terms cancel.
std::vector<double> magnitudes_of_terms(const Function& f, const Operands& x, const std::vector<Tensor>& w, Rng& rng) {
  constexpr int kSigns = 8;
  std::vector<double> out(x.size(), 1);
  for (int trial = 0; trial <= kSigns; ++trial) {
    std::vector<Tensor> turned;
    for (const Tensor& t : w) {
      turned.push_back(copy_of(t));
      for (int64_t k = 0; trial > 0 && k < t.num_elems(); ++k)
        if (rng.below(2)) turned.back().data_mut<double>()[k] *= -1;
    }
    Operands g = adjoints(f, x, turned, false);
    for (size_t i = 0; i < g.size(); ++i)
      for (int64_t k = 0; k < g[i].value().num_elems(); ++k)
        out[i] = std::max(out[i], std::fabs(element_as_double(g[i].value(), k)));
  }
  return out;
}

// Fewer digits, the same derivative.
TEST_P(Gradient, InNarrowTypesIsNearTheOneInDouble) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    if (!GetParam()->dtypes.has(dtype)) continue;
    for_each_case(dtype, [&](const OpCase& c, Rng& rng) {
      std::vector<Tensor> in = c.make(rng), wide = in, x = floats_of(in);
      for (Tensor& t : wide)
        if (is_float(t.dtype)) t = cast_tensor(t, DType::F64);
      if (GetParam()->name == "cast") return;
      Function f = function_of(*GetParam(), c.attrs, in),
               f64 = function_of(*GetParam(), c.attrs.find("dtype") ? Attrs{{"dtype", DType::F64}} : c.attrs, wide);
      std::vector<Tensor> w = random_like(rng, f(as_operands(x))), w64, x64;
      for (const Tensor& t : w)
        w64.push_back(cast_tensor(t, DType::F64));
      for (const Tensor& t : x)
        x64.push_back(cast_tensor(t, DType::F64));
      Operands g = adjoints(f, as_operands(x), w, false), g64 = adjoints(f64, as_operands(x64), w64, false);
      std::vector<double> magnitudes = magnitudes_of_terms(f64, as_operands(x64), w64, rng);
      for (size_t i = 0; i < g.size(); ++i) {
        Tensor narrow = g[i].value(), exact = g64[i].value();
        ASSERT_EQ(narrow.dtype, x[i].dtype);
        // A rule rounds at each of its ops; a long row adds up errors of its terms.
        for (int64_t k = 0; k < exact.num_elems(); ++k)
          ASSERT_NEAR(element_as_double(exact, k), element_as_double(narrow, k), 16 * tolerance(dtype, magnitudes[i]))
              << "input " << i << " " << sheaf::name_of(dtype);
      }
    });
  }
}

std::vector<const OpDef*> differentiable_ops() {
  std::vector<const OpDef*> out;
  for (const OpDef* d : all_ops())
    if (d->vjp.rule && d->infer && d->dtypes.has(DType::F64)) out.push_back(d);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Ops, Gradient, ::testing::ValuesIn(differentiable_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

// Whole programs, with their second derivative.
TEST(RandomPrograms, GradientMatchesDifferences) {
  trace::install();
  for (int trial = 0; trial < 200; ++trial) {
    uint64_t seed = test_seed() + trial;
    Rng rng(seed);
    std::vector<Tensor> x{uniform_tensor(rng, DType::F64, kProgramSizes, -1, 1),
                          uniform_tensor(rng, DType::F64, kProgramSizes, -1, 1)};
    Function f = RandomProgram(seed, 2 + seed % 12, true);  // all from the seed, which a failure names
    SCOPED_TRACE("SHEAF_SEED=" + std::to_string(seed));
    expect_vjp_matches(f, x, Storage::Contiguous, rng);
    if (seed % 4 == 0)
      expect_vjp_matches(gradient(f, random_like(rng, f(as_operands(x)))), x, Storage::Contiguous, rng);
    if (HasFailure()) return;
  }
}

// "Zero by definition" must be zero by differences too, away from the jumps.
TEST(ZeroDerivative, IsZero) {
  trace::install();
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (const OpDef* d : all_ops()) {
    if (!d->vjp.zero || d->kind != OpKind::Elementwise || !d->dtypes.has(DType::F64)) continue;
    if (d->name == "stop_gradient" || d->name == "next_after") continue;  // by decision, not by calculus
    Tensor a = uniform_tensor(rng, DType::F64, {20}, 0.6, 0.9), b = uniform_tensor(rng, DType::F64, {20}, 2.1, 2.4);
    std::vector<Tensor> x{a};
    if (d->reference2) x.push_back(b);
    Operands above, below, leaves;
    for (const Tensor& t : x) {
      Tensor v = uniform_tensor(rng, DType::F64, {20}, -1, 1);
      above.push_back(moved(t, kStep, v, Storage::Contiguous));
      below.push_back(moved(t, -kStep, v, Storage::Contiguous));
      leaves.push_back(trace::make_leaf(t));
    }
    EXPECT_TRUE(same_bits(graph::apply(*d, above).value(), graph::apply(*d, below).value())) << d->name;
    Operand y = graph::apply(*d, leaves);
    EXPECT_FALSE(y.is_node()) << d->name << " stays on the tape";
  }
}

// The derivative at a kink, by the documentation of the op.
TEST(Kinks, HaveTheirDocumentedGradient) {
  trace::install();
  auto value = [](double x) { return constant(DType::F64, x); };
  auto slopes = [&](const char* name, Operands xs) {
    Function f = [&](const Operands& in) { return Operands{graph::apply(op(name), in)}; };
    double one = 1;
    std::vector<double> out;
    for (const Operand& g : adjoints(f, xs, {tensor_of(DType::F64, {}, &one)}, false))
      out.push_back(element_as_double(g.value(), 0));
    return out;
  };
  EXPECT_EQ(slopes("abs", {value(0)}), (std::vector<double>{1}));
  EXPECT_EQ(slopes("maximum", {value(2), value(2)}), (std::vector<double>{1, 0}));
  EXPECT_EQ(slopes("minimum", {value(2), value(2)}), (std::vector<double>{1, 0}));
  EXPECT_EQ(slopes("pow", {value(0), value(0)}), (std::vector<double>{0, 0}));
  EXPECT_EQ(slopes("pow", {value(0), value(2)}), (std::vector<double>{0, 0}));
  EXPECT_EQ(slopes("pow", {value(-3), value(2)})[0], -6);
  double tied[] = {1, 5, 5};
  Function largest = [](const Operands& in) { return Operands{reduce("max", in[0], {0}, false)}; };
  double one = 1;
  Tensor g = adjoints(largest, {tensor_of(DType::F64, {3}, tied)}, {tensor_of(DType::F64, {}, &one)}, false)[0].value();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(element_as_double(g, i), i > 0);
}

}  // namespace
}  // namespace sheaf::ops
