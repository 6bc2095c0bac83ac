// Elementary functions of float arrays.
#include <cmath>
#include <numbers>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/rules.h"
#include "ops/scalar_rules.h"
#include "ops/table.h"
#include "scalar/math/elementary.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kFloats;
using graph::OpKind;
using graph::VjpCtx;
using loop::Op;

template <Op kOp>
double elementary_f64(double x) {
  return scalar::elementary<kOp>(x);
}

Operand one(const Operand& x) { return like(x, 1); }

// e^x / 2 for x >= 0. Near the end of the range e^x overflows where its half does not: kShift is taken off first, which
// is exact there, and e^kShift / 2 is nearly a float and nearly a double.
template <class B, class T>
math::Scalar<B, T> half_exp(math::Scalar<B, T> x) {
  constexpr T kFar = sizeof(T) == 4 ? 88 : 709, kShift = 0.8125, kFactor = 0x1.2073d3f1bd518p+0;
  auto is_far = x > kFar;
  return call<Op::Exp>(select(is_far, x - kShift, x)) * select(is_far, kFactor, x.lit(0.5));
}

// Taylor's series below 1, where e^x and e^-x cancel.
struct Sinh {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    constexpr T kSeries[] = {T(1.0 / 6), T(1.0 / 120), T(1.0 / 5040), T(1.0 / 362880), T(1.0 / 39916800)};
    constexpr T kLongSeries[] = {kSeries[0],
                                 kSeries[1],
                                 kSeries[2],
                                 kSeries[3],
                                 kSeries[4],
                                 T(1.0 / 6227020800),
                                 T(1.0 / 1307674368000),
                                 T(1.0 / 355687428096000),
                                 T(1.0 / 121645100408832000)};
    auto size = abs(x), square = x * x;
    auto tail = (sizeof(T) == 4 ? horner(square, kSeries) : horner(square, kLongSeries)) * square;
    auto half = half_exp(size);
    return copysign(select(size < T(1), fma(tail, size, size), half - T(0.25) / half), x);
  }
};

struct Cosh {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    auto half = half_exp(abs(x));
    return half + T(0.25) / half;
  }
};

// sqrt(1 - x^2) with one rounding under the root, so that no digit is lost near 1; NaN beyond.
template <class B, class T>
math::Scalar<B, T> other_side(math::Scalar<B, T> x) {
  return sqrt(fma(-x, x, T(1)));
}

struct Asin {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    return call<Op::Atan2>(x, other_side(x));
  }
};

struct Acos {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    return call<Op::Atan2>(other_side(x), x);
  }
};

struct Atan {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    return call<Op::Atan2>(x, x.lit(1));
  }
};

// Above kLargeRoot<T>, 1 is negligible against x^2.
template <class T>
constexpr T kLargeRoot = sizeof(T) == 4 ? 0x1p12 : 0x1p28;
// log(2x)
template <class B, class T>
math::Scalar<B, T> log_double(math::Scalar<B, T> x) {
  return call<Op::Log>(x) + T(std::numbers::ln2);
}

struct Asinh {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    auto size = abs(x);
    auto y = call<Op::Log1p>(size + size * size / (T(1) + sqrt(fma(size, size, T(1)))));
    return copysign(select(size > kLargeRoot<T>, log_double(size), y), x);
  }
};

// log1p(u) for u = (x - 1) + sqrt(x^2 - 1), and the part of u that rounding took from it.
struct Acosh {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    auto above = x - T(1), square = fma(above, above, above + above), root = sqrt(square), u = root + above;
    auto lost = (above - (u - root)) + select(square == T(0), T(0), fma(-root, root, square) / (root + root));
    auto y = call<Op::Log1p>(u) + lost / (u + T(1));
    return select(x < T(1), math::kNaN<T>, select(x > kLargeRoot<T>, log_double(x), y));
  }
};

// 2x / (1 - x) as 2x + 2x (x / (1 - x)): the quotient is the smaller part where digits count.
struct Atanh {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    auto size = abs(x), twice = size + size;
    auto y = T(0.5) * call<Op::Log1p>(fma(twice, size / (T(1) - size), twice));
    return select(size > T(1), math::kNaN<T>, copysign(y, x));
  }
};

const OpDef kOps[] = {
    {.name = "exp",
     .kind = OpKind::Elementwise,
     .signature = "(exp x)",
     .doc = "e to the power x.",
     .examples = {{"(exp 2)", "7.389056"}},
     .of_numbers = {.f64 = elementary_f64<Op::Exp>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * c.y()); }),
     .batch = batch_elementwise,
     .complex = complex_exp,
     .scalar = scalar_unary<Op::Exp>,
     .reference1 = [](double x) { return std::exp(x); },
     .ulps = 1.1},
    {.name = "log",
     .kind = OpKind::Elementwise,
     .signature = "(log x)",
     .doc = "Natural logarithm; of 0 -inf, of a negative number NaN.",
     .examples = {{"(log 1)", "0.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Log>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() / c.x(0)); }),
     .batch = batch_elementwise,
     .complex = complex_log,
     .scalar = scalar_unary<Op::Log>,
     .reference1 = [](double x) { return std::log(x); },
     .domain = {0.1, 5},
     .ulps = 1.0},
    {.name = "sqrt",
     .kind = OpKind::Elementwise,
     .signature = "(sqrt x)",
     .doc = "Square root.",
     .examples = {{"(sqrt 2)", "1.4142135"}},
     .of_numbers = {.f32 = std::sqrt},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * like(c.y(), 0.5) / c.y()); }),
     .batch = batch_elementwise,
     .complex = complex_sqrt,
     .scalar = scalar_unary<Op::Sqrt>,
     .reference1 = [](double x) { return std::sqrt(x); },
     .domain = {0.1, 5},
     .ulps = 0.5},
    {.name = "sin",
     .kind = OpKind::Elementwise,
     .signature = "(sin x)",
     .doc = "Sine (radians).",
     .examples = {{"(sin 0)", "0.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Sin>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * apply1("cos", c.x(0))); }),
     .batch = batch_elementwise,
     .complex = complex_sin,
     .scalar = scalar_unary<Op::Sin>,
     .reference1 = [](double x) { return std::sin(x); }},
    {.name = "cos",
     .kind = OpKind::Elementwise,
     .signature = "(cos x)",
     .doc = "Cosine (radians).",
     .examples = {{"(cos 0)", "1.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Cos>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, -(c.dy() * apply1("sin", c.x(0)))); }),
     .batch = batch_elementwise,
     .complex = complex_cos,
     .scalar = scalar_unary<Op::Cos>,
     .reference1 = [](double x) { return std::cos(x); }},
    {.name = "tan",
     .kind = OpKind::Elementwise,
     .signature = "(tan x)",
     .doc = "Tangent (radians).",
     .examples = {{"(tan 0)", "0.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Tan>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * (one(c.y()) + c.y() * c.y())); }),
     .batch = batch_elementwise,
     .complex = complex_tan,
     .scalar = scalar_unary<Op::Tan>,
     .reference1 = [](double x) { return std::tan(x); },
     .domain = {-1.2, 1.2}},
    {.name = "tanh",
     .kind = OpKind::Elementwise,
     .signature = "(tanh x)",
     .doc = "Hyperbolic tangent.",
     .examples = {{"(tanh 0)", "0.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Tanh>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * (one(c.y()) - c.y() * c.y())); }),
     .batch = batch_elementwise,
     .complex = complex_tanh,
     .scalar = scalar_unary<Op::Tanh>,
     .reference1 = [](double x) { return std::tanh(x); },
     .ulps = 1.4},
    {.name = "sigmoid",
     .kind = OpKind::Elementwise,
     .signature = "(%sigmoid x)",
     .doc = "1 / (1 + e^-x).",
     .of_numbers = {.f64 = elementary_f64<Op::Sigmoid>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * (c.y() * (one(c.y()) - c.y()))); }),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Sigmoid>,
     .reference1 = [](double x) { return 1 / (1 + std::exp(-x)); }},
    {.name = "erf",
     .kind = OpKind::Elementwise,
     .signature = "(erf x)",
     .doc = "Error function.",
     .examples = {{"(erf 0)", "0.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Erf>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy() * like(c.y(), 2 / std::sqrt(std::numbers::pi)) * apply1("exp", -(c.x(0) * c.x(0))));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Erf>,
     .reference1 = [](double x) { return std::erf(x); },
     .ulps = 1.5},
    {.name = "erfinv",
     .kind = OpKind::Elementwise,
     .signature = "(erfinv y)",
     .doc = "Inverse of the error function on (-1, 1); inf at 1, NaN beyond.",
     .examples = {{"(erfinv 0.5)", "0.47693628"}},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy() * like(c.y(), std::sqrt(std::numbers::pi) / 2) * apply1("exp", c.y() * c.y()));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::ErfInv>,
     .reference1 =
         [](double y) {
           double x = 0;  // Newton's method on erf(x) = y
           for (int i = 0; i < 30; ++i)
             x -= (std::erf(x) - y) * std::exp(x * x) * std::sqrt(std::numbers::pi) / 2;
           return x;
         },
     .domain = {-0.9, 0.9}},
    {.name = "expm1",
     .kind = OpKind::Elementwise,
     .signature = "(expm1 x)",
     .doc = "exp(x) - 1, accurate near 0.",
     .examples = {{"(expm1 0)", "0.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Expm1>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * (c.y() + one(c.y()))); }),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Expm1>,
     .reference1 = [](double x) { return std::expm1(x); },
     .ulps = 1.4},
    {.name = "log1p",
     .kind = OpKind::Elementwise,
     .signature = "(log1p x)",
     .doc = "log(1 + x), accurate near 0.",
     .examples = {{"(log1p 0)", "0.0"}},
     .of_numbers = {.f64 = elementary_f64<Op::Log1p>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() / (one(c.y()) + c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Log1p>,
     .reference1 = [](double x) { return std::log1p(x); },
     .domain = {-0.9, 3},
     .ulps = 1.0},
    {.name = "pow",
     .kind = OpKind::Elementwise,
     .doc = "a to the power b, with the special cases of C's pow.",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       Operand x = c.x(0), p = c.x(1);
       // x^(p-1) is infinite at x = 0 for p < 1, but the derivative of x^0 is 0 there too.
       if (c.needs(0)) {
         Operand zero = like(p, 0);
         Operand safe = where(equal(p, zero), one(p), p);
         c.grad(0, where(equal(p, zero), zero, c.dy() * p * apply2("pow", x, safe - one(p))));
       }
       if (c.needs(1)) {
         Operand positive = less(like(x, 0), x);
         Operand log_x = apply1("log", where(positive, x, one(x)));
         c.grad(1, where(positive, c.dy() * c.y() * log_x, like(x, 0)));
       }
     }),
     .batch = batch_elementwise,
     // A program that says (** x 3) gets products; one whose exponent is an argument must get the same bits.,
     .complex = complex_pow,
     .scalar =
         [](graph::ScalarCtx& c) {
           uint32_t x = c.x[0], p = c.x[1];
           uint32_t square = c.b.binary(Op::Mul, x, x), cube = c.b.binary(Op::Mul, square, x);
           auto is = [&](double n) { return c.b.eq(p, c.b.number(c.type, n)); };
           return c.b.select(is(2), square, c.b.select(is(3), cube, c.b.binary(Op::Pow, x, p)));
         },
     .reference2 = [](double a, double b) { return std::pow(a, b); },
     .domain = {0.2, 2.5}},
    {.name = "atan2",
     .kind = OpKind::Elementwise,
     .signature = "(atan2 y x)",
     .doc = "Angle of the point (x, y).",
     .examples = {{"(atan2 0 1)", "0.0"}},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       Operand y = c.x(0), x = c.x(1);
       Operand g = c.dy() / (x * x + y * y);
       if (c.needs(0)) c.grad(0, g * x);
       if (c.needs(1)) c.grad(1, -(g * y));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Atan2>,
     .reference2 = [](double a, double b) { return std::atan2(a, b); },
     .domain = {0.3, 2}},
    {.name = "sinh",
     .kind = OpKind::Elementwise,
     .signature = "(sinh x)",
     .doc = "Hyperbolic sine.",
     .examples = {{"(sinh 1)", "1.1752012"}},
     .of_numbers = {.f64 = formula_f64<Sinh>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * apply1("cosh", c.x(0))); }),
     .batch = batch_elementwise,
     .complex = complex_sinh,
     .scalar = scalar_formula<Sinh>,
     .reference1 = [](double x) { return std::sinh(x); },
     .ulps = 1.7},
    {.name = "cosh",
     .kind = OpKind::Elementwise,
     .signature = "(cosh x)",
     .doc = "Hyperbolic cosine.",
     .examples = {{"(cosh 1)", "1.5430807"}},
     .of_numbers = {.f64 = formula_f64<Cosh>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * apply1("sinh", c.x(0))); }),
     .batch = batch_elementwise,
     .complex = complex_cosh,
     .scalar = scalar_formula<Cosh>,
     .reference1 = [](double x) { return std::cosh(x); },
     .ulps = 1.4},
    {.name = "asin",
     .kind = OpKind::Elementwise,
     .signature = "(asin x)",
     .doc = "Angle in [-pi/2, pi/2] whose sine is x; NaN where |x| > 1.",
     .examples = {{"(asin 1)", "1.5707964"}},
     .of_numbers = {.f64 = formula_f64<Asin>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable(
         [](VjpCtx& c) { c.grad(0, c.dy() / apply1("sqrt", (one(c.x(0)) - c.x(0)) * (one(c.x(0)) + c.x(0)))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Asin>,
     .reference1 = [](double x) { return std::asin(x); },
     .domain = {-0.7, 0.7},
     .ulps = 2},
    {.name = "acos",
     .kind = OpKind::Elementwise,
     .signature = "(acos x)",
     .doc = "Angle in [0, pi] whose cosine is x; NaN where |x| > 1.",
     .examples = {{"(acos -1)", "3.1415927"}},
     .of_numbers = {.f64 = formula_f64<Acos>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable(
         [](VjpCtx& c) { c.grad(0, -(c.dy() / apply1("sqrt", (one(c.x(0)) - c.x(0)) * (one(c.x(0)) + c.x(0))))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Acos>,
     .reference1 = [](double x) { return std::acos(x); },
     .domain = {-0.7, 0.7},
     .ulps = 1.9},
    {.name = "atan",
     .kind = OpKind::Elementwise,
     .signature = "(atan x)",
     .doc = "Angle in [-pi/2, pi/2] whose tangent is x.",
     .examples = {{"(atan 1)", "0.7853982"}},
     .of_numbers = {.f64 = formula_f64<Atan>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() / (one(c.x(0)) + c.x(0) * c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Atan>,
     .reference1 = [](double x) { return std::atan(x); },
     .ulps = 1.5},
    {.name = "asinh",
     .kind = OpKind::Elementwise,
     .signature = "(asinh x)",
     .doc = "Inverse of sinh.",
     .examples = {{"(asinh 1)", "0.8813736"}},
     .of_numbers = {.f64 = formula_f64<Asinh>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() / apply1("sqrt", c.x(0) * c.x(0) + one(c.x(0)))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Asinh>,
     .reference1 = [](double x) { return std::asinh(x); },
     .ulps = 1.8},
    {.name = "acosh",
     .kind = OpKind::Elementwise,
     .signature = "(acosh x)",
     .doc = "Inverse of cosh; NaN where x < 1.",
     .examples = {{"(acosh 2)", "1.316958"}},
     .of_numbers = {.f64 = formula_f64<Acosh>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable(
         [](VjpCtx& c) { c.grad(0, c.dy() / apply1("sqrt", (c.x(0) - one(c.x(0))) * (c.x(0) + one(c.x(0))))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Acosh>,
     .reference1 = [](double x) { return std::acosh(x); },
     .domain = {1.5, 4},
     .ulps = 1.6},
    {.name = "atanh",
     .kind = OpKind::Elementwise,
     .signature = "(atanh x)",
     .doc = "Inverse of tanh; inf at 1, NaN where |x| > 1.",
     .examples = {{"(atanh 0.5)", "0.54930615"}},
     .of_numbers = {.f64 = formula_f64<Atanh>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() / ((one(c.x(0)) - c.x(0)) * (one(c.x(0)) + c.x(0)))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<Atanh>,
     .reference1 = [](double x) { return std::atanh(x); },
     .domain = {-0.7, 0.7},
     .ulps = 1.7},
};

}  // namespace

std::span<const OpDef> math_ops() { return kOps; }

}  // namespace sheaf::ops
