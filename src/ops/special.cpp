// Special functions of float arrays: the gamma function and its logarithmic derivatives, the complementary error
// function, modified Bessel functions. The formulas use f64; narrower results are rounded once, so they are accurate to
// the last place even near a zero of the function. Fits state their relative error as 2^-k.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/float_functions.h"
#include "ops/rules.h"
#include "ops/scalar_rules.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kFloats;
using graph::OpKind;
using graph::ScalarCtx;
using graph::VjpCtx;
using loop::Op;

template <class B>
using Real = math::Scalar<B, double>;

constexpr double kInf = math::kInf<double>, kNaN = math::kNaN<double>;

// x minus the nearest integer.
template <class B>
Real<B> distance_from_whole(Real<B> x) {
  return x - rint(x);
}

// log |gamma(x)|. For 0 < x < 8 with x = k + z, |z| <= 1/2: log gamma(2 + z) plus the logarithm of the factors in
// between; above, Stirling's series; below 0, reflection.
struct LogGamma {
  template <class B>
  static Real<B> of(Real<B> x) {
    // log(gamma(2 + z)) / z; 2^-55.2
    constexpr double kNearTwo[] = {
        0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa6p-2,  -0x1.13e001a55760ap-4,  0x1.51322ac7d848ap-6,
        -0x1.e404fc218dbaep-8,  0x1.7add6eadb5317p-9,  -0x1.38ac5c2d48207p-10, 0x1.0b36af8779ca0p-11,
        -0x1.d3fd4b679c1c4p-13, 0x1.a127afee53e7dp-14, -0x1.78de9ab752b81p-15, 0x1.580e0afa55850p-16,
        -0x1.3cb3be36ad88bp-17, 0x1.258f3057730fap-18, -0x1.1276ebd557fb0p-19, 0x1.012012be3900ap-20,
        -0x1.ce17528bcf460p-22, 0x1.b40adb09a1e12p-23, -0x1.2009c1a550d0dp-23, 0x1.11fa5e7c86f7bp-24};
    constexpr double kStirling[] = {1.0 / 12,   -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
                                    1.0 / 1188, -691.0 / 360360.0, 1.0 / 156,  -3617.0 / 122400.0};
    constexpr double kLargeFrom = 7.5, kHalfLogTwoPi = 0.91893853320467274178;
    auto y = abs(x), k = rint(min(y, 8.0)), z = y - k;
    auto factors = x.lit(1);
    for (int j = 2; j <= 7; ++j)
      factors = select(k > double(j), factors * (z + double(j)), factors);
    auto is_large = y > kLargeFrom, is_below = k < 2.0;
    factors = select(k == 1.0, y, select(k == 0.0, y * (y + 1.0), factors));
    auto log_y = call<Op::Log>(select(is_large, y, factors));
    auto small = fma(horner(z, kNearTwo), z, select(is_below, -log_y, log_y));
    auto inverse = 1.0 / y;
    auto large = fma(y - 0.5, log_y - 1.0, fma(horner(inverse * inverse, kStirling), inverse, kHalfLogTwoPi - 0.5));
    auto positive = select(y == kInf, y, select(is_large, large, small));
    // gamma(y) gamma(-y) = -pi / (y sin(pi y)). Near 0 both factors are equally large, and their product overflows.
    auto sine = abs(call<Op::Sin>(distance_from_whole(y) * std::numbers::pi));
    auto reflected = std::log(std::numbers::pi) - call<Op::Log>(y * sine) - positive;
    auto is_reflected = (x < 0.0) & (y > 0x1p-60) & (y < kInf);
    return seldom(is_reflected, reflected, positive);
  }
};

// The logarithmic derivative of gamma: from 10 on its asymptotic series, below that the recurrence up to 10, for
// negative numbers reflection.
struct Digamma {
  template <class B>
  static Real<B> of(Real<B> x) {
    constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,      1.0 / 252, -1.0 / 240,
                                  1.0 / 132, -691.0 / 32760., 1.0 / 12,  -3617.0 / 8160};
    constexpr int kFrom = 10;
    auto is_negative = x < 0.0;
    auto y = select(is_negative, 1.0 - x, x), sum = x.lit(0);
    for (int i = 0; i < kFrom; ++i) {
      auto is_low = y < double(kFrom);
      sum = select(is_low, sum + 1.0 / y, sum);
      y = select(is_low, y + 1.0, y);
    }
    auto inverse = 1.0 / y, square = inverse * inverse;
    auto z = call<Op::Log>(y) - fma(horner(square, kSeries), square, inverse * 0.5) - sum;
    auto distance = distance_from_whole(x);
    auto reflected = z - std::numbers::pi / call<Op::Tan>(distance * std::numbers::pi);
    z = seldom(is_negative, select(distance == 0.0, kNaN, reflected), z);
    return select(x == 0.0, copysign(x.lit(kInf), -x), z);
  }
};

// The n-th derivative of digamma for x > 0, computed like digamma; NaN below 0.
template <class B>
Real<B> polygamma(Real<B> x, int64_t n) {
  // B_2k (2k + n - 1)! / (2k)!
  constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,      -1.0 / 30,
                                   5.0 / 66,      -691.0 / 2730,   7.0 / 6,       -3617.0 / 510.,
                                   43867.0 / 798, -174611.0 / 330, 854513 / 138., -236364091.0 / 2730};
  constexpr int kTerms = std::size(kBernoulli);
  double series[kTerms], factorial = std::tgamma(static_cast<double>(n));  // (n - 1)!
  for (int k = 1; k <= kTerms; ++k)
    series[k - 1] =
        kBernoulli[k - 1] * std::exp(std::lgamma(2.0 * k + static_cast<double>(n)) - std::lgamma(2.0 * k + 1));
  auto power = [n](Real<B> base) {
    auto y = base;
    for (int64_t i = 1; i < n; ++i)
      y = y * base;
    return y;
  };
  const auto steps = static_cast<int>(12 + 2 * n);
  auto y = x, sum = x.lit(0);
  for (int i = 0; i < steps; ++i) {
    auto is_low = y < double(steps), inverse = 1.0 / y;
    sum = select(is_low, sum + power(inverse) * inverse, sum);
    y = select(is_low, y + 1.0, y);
  }
  auto inverse = 1.0 / y, square = inverse * inverse;
  auto n_real = static_cast<double>(n);
  auto tail = fma(horner(square, series), square, fma(inverse, factorial * n_real / 2, factorial));
  auto z = fma(sum, factorial * n_real, power(inverse) * tail);
  return select(x < 0.0, kNaN, n % 2 == 1 ? z : -z);
}

uint32_t scalar_polygamma(ScalarCtx& c) {
  Real<loop::Builder> x(c.b, c.b.convert(c.x[0], DType::F64));
  return c.b.convert(polygamma(x, c.attrs.integer("order")).v, c.type);
}

Operand apply_polygamma(const Operand& x, int64_t order) {
  return graph::apply(op("polygamma"), {x}, {{"order", order}});
}

// For x < 0 digamma(x) = digamma(1 - x) - pi / tan(pi x). A branch that is not taken gets a harmless argument, so that
// higher derivatives are not NaN.
void vjp_digamma(VjpCtx& c) {
  Operand x = c.x(0), positive = less(like(x, 0), x);
  Operand outer = apply_polygamma(where(positive, x, like(x, 1) - x), 1);
  Operand sine = apply1("sin", like(x, std::numbers::pi) * where(positive, like(x, 0.5), x));
  Operand reflected = like(x, std::numbers::pi * std::numbers::pi) / (sine * sine) - outer;
  c.grad(0, c.dy() * where(positive, outer, reflected));
}

// 1 - erf(x) without cancellation: e^-x^2 times a slowly varying function.
struct Erfc {
  template <class B>
  static Real<B> of(Real<B> x) {
    // (1 + 2x) e^x^2 erfc(x) in (x - 2) / (x + 2) for 1/2 <= x <= 28; 2^-53.3
    constexpr double kScaled[] = {
        0x1.46e80e2277953p+0,   -0x1.7bf5ec1700632p-4,  -0x1.5407bebf32446p-3,  0x1.4ffa1e14e27c3p-3,
        -0x1.bc2b9561987dcp-5,  -0x1.074234048ebc7p-7,  0x1.1dd2ec9093235p-7,   0x1.4d461d3cca9a0p-10,
        -0x1.7de520f57324cp-10, -0x1.dc693736874a8p-12, 0x1.b0c888cee5775p-13,  0x1.3cc10ec84fdcap-13,
        -0x1.954c1d760c033p-20, -0x1.3196feefbef95p-15, -0x1.c4ad0f4f8423fp-17, 0x1.f51acaf0c7594p-19,
        0x1.5d7341b4d9f38p-18,  0x1.846145f73f9a6p-20,  -0x1.5241195511084p-21, -0x1.93e270ed7c321p-21,
        -0x1.b5430fb94b912p-22, 0x1.91bfa7b88c39ep-24,  0x1.66f10e3a27cd8p-22,  -0x1.541ca1ed40e36p-27,
        -0x1.fd0f967dae28cp-24, 0x1.1a8c9f51fe811p-25};
    constexpr double kZeroAbove = 28;
    auto y = abs(x);
    y = select(y > kZeroAbove, kZeroAbove, y);
    // y^2 as two parts, the first of them exact.
    auto head = as_float(bits(y) & ~int64_t{0x7ffffff});
    auto power = call<Op::Exp>(-(head * head)) * call<Op::Exp>((head - y) * (head + y));
    auto upper = horner((y - 2.0) / (y + 2.0), kScaled) / fma(y, 2.0, 1.0) * power;
    return select(y < 0.5, 1.0 - call<Op::Erf>(x), select(x < 0.0, 2.0 - upper, upper));
  }
};

// The factor of e^|x| in the modified Bessel functions I0 and I1 of |x| (I1 also without a factor |x|): up to 8 from
// the power series, above from the asymptotic series.
constexpr double kBesselBorder = 8;
struct BesselFits {
  double near[15];  // I0: (I0 - 1) / (x^2 / 4), I1: I1 / x, in x^2 / 4
  double far[22];   // times sqrt(x) e^-x, in 1 / x
};
// 2^-55.2 and 2^-52.3
constexpr BesselFits kI0 = {
    {0x1.0000000000000p+0, 0x1.ffffffffffff8p-3, 0x1.c71c71c71c835p-6, 0x1.c71c71c71a6dep-10, 0x1.23456789cad8fp-14,
     0x1.02e85c06594fcp-19, 0x1.522a442ca7776p-25, 0x1.522a407351c9ap-31, 0x1.0b315b8692d2bp-37, 0x1.55fedb223c9d2p-44,
     0x1.69eac23652b1dp-51, 0x1.40852a1bdf9fbp-58, 0x1.f3ce33d9e3b74p-66, 0x1.0d6a26a87e4bcp-73, 0x1.2069052b0b501p-80},
    {0x1.9884533d43650p-2,   0x1.9884533d4e5c8p-5,  0x1.cb94dd3770febp-6,   0x1.debbe95be8c68p-6,
     0x1.6e173c99cb8f0p-5,   0x1.96783956d4b24p-4,  -0x1.64f4422bff739p-1,  0x1.192947feafc82p+6,
     -0x1.dc6169c773619p+11, 0x1.3155a23309505p+17, -0x1.29fd4152bd5a4p+22, 0x1.c081d89fb7535p+26,
     -0x1.05fe68cd75093p+31, 0x1.dc280e4c44318p+34, -0x1.4fb55e60650b6p+38, 0x1.6c8c8e26f4cabp+41,
     -0x1.2cc96afafb97ap+44, 0x1.7102f26989c12p+46, -0x1.44f8171577de2p+48, 0x1.8323f5e649cd3p+49,
     -0x1.1672cb55c1561p+50, 0x1.6bcb8542273bap+49}};
// 2^-52.0 and 2^-52.1
constexpr BesselFits kI1 = {
    {0x1.0000000000001p-1, 0x1.fffffffffffc2p-3, 0x1.55555555559d4p-5, 0x1.c71c71c7142d2p-9, 0x1.6c16c16c96198p-13,
     0x1.845c8a03acf9dp-18, 0x1.27e4fbe6ed8a7p-23, 0x1.522a3cc360512p-29, 0x1.2c97acda75e79p-35, 0x1.ab7c6ebf88594p-42,
     0x1.f1b8681cc90c3p-49, 0x1.e031f2b9145b3p-56, 0x1.98bd48a59a129p-63, 0x1.c9644eff0bafdp-71, 0x1.16bc17a036b2fp-77},
    {0x1.9884533d43651p-2,  -0x1.32633e6df554bp-3,  -0x1.7efc0dd1d7f4cp-5, -0x1.4f1cf9d3ace4fp-5,
     -0x1.d6ce84890f615p-5, -0x1.e96e55ec8eeb0p-4,  0x1.55dbf177924bap-1,  -0x1.1ce45df99313cp+6,
     0x1.e157f38e5810dp+11, -0x1.3408cdbccfe9ap+17, 0x1.2c07c37a875bcp+22, -0x1.c2848e7594cd9p+26,
     0x1.066da4492ba6fp+31, -0x1.db56b48818504p+34, 0x1.4dc5c8b513f1cp+38, -0x1.68ab5c39091efp+41,
     0x1.27cfdb8fd2de0p+44, -0x1.68436f9b3a43fp+46, 0x1.3a6a4bf146891p+48, -0x1.725ef9c93c719p+49,
     0x1.06996fdd573c2p+50, -0x1.50bddf9c82a13p+49}};

// e^-|x| I(x), and times e^|x| if not `scaled`. Multiplies by half of the power twice: e^|x| overflows before I does.
template <int kOrder, bool kScaled>
struct Bessel {
  template <class B>
  static Real<B> of(Real<B> x) {
    constexpr const BesselFits& fits = kOrder == 0 ? kI0 : kI1;
    auto y = abs(x), quarter = y * y * 0.25;
    auto near_fit = horner(quarter, fits.near);
    auto small = kOrder == 0 ? fma(near_fit, quarter, 1.0) : near_fit * y;
    auto far_fit = horner(1.0 / y, fits.far) / sqrt(y);
    auto is_near = y <= kBesselBorder;
    auto result = select(is_near, small, far_fit);
    if constexpr (kScaled) {
      result = select(is_near, result * call<Op::Exp>(-y), result);
    } else {
      auto root = call<Op::Exp>(y * 0.5);
      result = select(is_near, result, result * root * root);
      result = select(y == kInf, y, result);
    }
    return kOrder == 0 ? result : copysign(result, x);
  }
};

// I1(x) / x, which is 1/2 at 0.
Operand over_x(const Operand& y, const Operand& x) {
  Operand is_zero = equal(x, like(x, 0));
  return where(is_zero, like(x, 0.5), y / where(is_zero, like(x, 1), x));
}

const OpDef kOps[] = {
    {.name = "lgamma",
     .kind = OpKind::Elementwise,
     .signature = "(lgamma x)",
     .doc = "Logarithm of the absolute value of the gamma function; inf at 0 and the negative whole numbers.",
     .examples = {{"(lgamma 5)", "3.1780539"}},
     .of_numbers = {.f64 = formula_f64<LogGamma>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * apply1("digamma", c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<LogGamma>>,
     .domain = {0.3, 4},
     .cases = {.inputs = 1}},
    {.name = "digamma",
     .kind = OpKind::Elementwise,
     .signature = "(digamma x)",
     .doc = "The logarithmic derivative of the gamma function.",
     .examples = {{"(digamma 1)", "-0.5772157"}},
     .of_numbers = {.f64 = formula_f64<Digamma>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable(vjp_digamma),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<Digamma>>,
     .domain = {0.5, 4},
     .cases = {.inputs = 1}},
    {.name = "polygamma",
     .kind = OpKind::Elementwise,
     .doc = "The derivative of digamma of the given order, 1 and up, for positive numbers.",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp =
         differentiable([](VjpCtx& c) { c.grad(0, c.dy() * apply_polygamma(c.x(0), c.attrs().integer("order") + 1)); }),
     .batch = [](BatchCtx& c) { return std::vector{graph::apply(c.op, c.inputs, c.attrs)}; },
     .scalar = scalar_polygamma,
     .domain = {1.5, 4},
     .cases = {.inputs = 1,
               .attrs = [](DType) { return std::vector<Attrs>{{{"order", int64_t{1}}}, {{"order", int64_t{4}}}}; }}},
    {.name = "erfc",
     .kind = OpKind::Elementwise,
     .signature = "(erfc x)",
     .doc = "1 - erf(x), with all digits where that is near 0.",
     .examples = {{"(erfc 5)", "0.0000000000015374598"}},
     .of_numbers = {.f64 = formula_f64<Erfc>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy() * like(c.y(), -2 / std::sqrt(std::numbers::pi)) * apply1("exp", -(c.x(0) * c.x(0))));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<Erfc>>,
     .cases = {.inputs = 1}},
    {.name = "i0",
     .kind = OpKind::Elementwise,
     .signature = "(i0 x)",
     .doc = "Modified Bessel function of the first kind, order 0.",
     .examples = {{"(i0 [0 1])", "[       1. 1.2660658]"}},
     .of_numbers = {.f64 = formula_f64<Bessel<0, false>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * apply1("i1", c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<Bessel<0, false>>>,
     .domain = {0.5, 4},
     .cases = {.inputs = 1}},
    {.name = "i0e",
     .kind = OpKind::Elementwise,
     .signature = "(i0e x)",
     .doc = "i0(x) e^-|x|, which does not overflow.",
     .examples = {{"(i0e 1000)", "0.012617241"}},
     .of_numbers = {.f64 = formula_f64<Bessel<0, true>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable(
         [](VjpCtx& c) { c.grad(0, c.dy() * (apply1("i1e", c.x(0)) - apply1("sign", c.x(0)) * c.y())); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<Bessel<0, true>>>,
     .domain = {0.5, 4},
     .cases = {.inputs = 1}},
    {.name = "i1",
     .kind = OpKind::Elementwise,
     .signature = "(i1 x)",
     .doc = "Modified Bessel function of the first kind, order 1.",
     .examples = {{"(i1 [0 1])", "[       0. 0.5651591]"}},
     .of_numbers = {.f64 = formula_f64<Bessel<1, false>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * (apply1("i0", c.x(0)) - over_x(c.y(), c.x(0)))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<Bessel<1, false>>>,
     .domain = {0.5, 4},
     .cases = {.inputs = 1}},
    {.name = "i1e",
     .kind = OpKind::Elementwise,
     .signature = "(i1e x)",
     .doc = "i1(x) e^-|x|, which does not overflow.",
     .examples = {{"(i1e 1000)", "0.01261093"}},
     .of_numbers = {.f64 = formula_f64<Bessel<1, true>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       Operand x = c.x(0);
       c.grad(0, c.dy() * (apply1("i0e", x) - apply1("sign", x) * c.y() - over_x(c.y(), x)));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<Bessel<1, true>>>,
     .domain = {0.5, 4},
     .cases = {.inputs = 1}},
};

}  // namespace

std::span<const OpDef> special_ops() { return kOps; }

}  // namespace sheaf::ops
