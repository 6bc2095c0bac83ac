// Powers, roots and logarithms to other bases.
#include <cmath>
#include <numbers>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/float_functions.h"
#include "ops/rules.h"
#include "ops/scalar_rules.h"
#include "scalar/math/log10.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kFloats;
using graph::OpKind;
using graph::VjpCtx;

struct Exp2 {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    return math::exp2(x);
  }
};

struct Log2 {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    return math::log2(x);
  }
};

struct Log10 {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    return math::log10(x);
  }
};

// A root by way of the logarithm, and a step of Newton's method, which squares its error.
struct Cbrt {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    constexpr T kThird = T(1) / 3;
    auto size = abs(x);
    auto y = math::exp2(math::log2(size) * kThird);
    y = fma(size / (y * y) - y, kThird, y);
    return copysign(select((size == T(0)) | (size == math::kInf<T>), size, y), x);
  }
};

// Scaled by a power of two where squares would leave the range.
struct Hypot {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x, math::Scalar<B, T> y) {
    constexpr T kLarge = sizeof(T) == 4 ? T(0x1p60) : T(0x1p500), kSmall = 1 / kLarge;
    constexpr T kUp = sizeof(T) == 4 ? T(0x1p90) : T(0x1p600), kDown = 1 / kUp;  // the ends of the range come inside
    auto a = abs(x), b = abs(y), larger = math::max(a, b);
    auto is_large = larger > kLarge, is_small = larger < kSmall;
    auto in = select(is_large, kDown, select(is_small, kUp, x.lit(1)));
    auto out = select(is_large, kUp, select(is_small, kDown, x.lit(1)));
    auto p = a * in, q = b * in;
    return select((a == math::kInf<T>) | (b == math::kInf<T>), math::kInf<T>, sqrt(fma(p, p, q * q)) * out);
  }
};

const OpDef kOps[] = {
    {.name = "exp2",
     .kind = OpKind::Elementwise,
     .signature = "(exp2 x)",
     .doc = "2 to the power x; exact where x is whole.",
     .examples = {{"(exp2 [3 0.5])", "[       8. 1.4142135]"}},
     .of_numbers = {.f64 = formula_f64<Exp2>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * (c.y() * like(c.y(), std::numbers::ln2))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Exp2>,
     .reference1 = [](double x) { return std::exp2(x); },
     .ulps = 1.1},
    {.name = "log2",
     .kind = OpKind::Elementwise,
     .signature = "(log2 x)",
     .doc = "Logarithm to base 2; of 0 -inf, of a negative number NaN.",
     .examples = {{"(log2 [8 0.5])", "[ 3. -1.]"}},
     .of_numbers = {.f64 = formula_f64<Log2>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * like(c.y(), std::numbers::log2e) / c.x(0)); }),
     .batch = batch_elementwise,
     .complex = complex_log2,
     .scalar = scalar_formula<Log2>,
     .reference1 = [](double x) { return std::log2(x); },
     .domain = {0.1, 5},
     .ulps = 1.1},
    {.name = "log10",
     .kind = OpKind::Elementwise,
     .signature = "(log10 x)",
     .doc = "Logarithm to base 10; of 0 -inf, of a negative number NaN.",
     .examples = {{"(log10 [1000 0.01])", "[ 3. -2.]"}},
     .of_numbers = {.f64 = formula_f64<Log10>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * like(c.y(), std::numbers::log10e) / c.x(0)); }),
     .batch = batch_elementwise,
     .complex = complex_log10,
     .scalar = scalar_formula<Log10>,
     .reference1 = [](double x) { return std::log10(x); },
     .domain = {0.1, 5},
     .ulps = 1.1},
    {.name = "cbrt",
     .kind = OpKind::Elementwise,
     .signature = "(cbrt x)",
     .doc = "Cube root, also of negative numbers.",
     .examples = {{"(cbrt [27 -8])", "[ 3. -2.]"}},
     .of_numbers = {.f64 = formula_f64<Cbrt>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() / (like(c.y(), 3) * (c.y() * c.y()))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Cbrt>,
     // glibc's of doubles may be wrong by three units of the last place.
     .reference1 = [](double x) { return static_cast<double>(std::cbrt(static_cast<long double>(x))); },
     .domain = {0.5, 5},
     .ulps = 1.1},
    {.name = "hypot",
     .kind = OpKind::Elementwise,
     .signature = "(hypot x y)",
     .doc = "sqrt(x^2 + y^2) without overflow or underflow. The derivative at (0, 0) is 0.",
     .examples = {{"(hypot 3 4)", "5.0"}, {"(hypot [3 0] [4 -2])", "[5. 2.]"}},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       Operand y = c.y(), zero = like(y, 0), is_zero = equal(y, zero);
       Operand g = where(is_zero, zero, c.dy() / where(is_zero, like(y, 1), y));
       if (c.needs(0)) c.grad(0, g * c.x(0));
       if (c.needs(1)) c.grad(1, g * c.x(1));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_formula2<Hypot>,
     .reference2 = [](double a, double b) { return std::hypot(a, b); },
     .domain = {0.3, 2}},
};

}  // namespace

std::span<const OpDef> powers_ops() { return kOps; }

}  // namespace sheaf::ops
