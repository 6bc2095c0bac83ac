// What a float is made of: its sign, whether it is finite, its whole part.
#include <cmath>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/float_functions.h"
#include "ops/rules.h"
#include "ops/scalar_rules.h"
#include "ops/value_rules.h"

namespace sheaf::ops {
namespace {

using graph::Arguments;
using graph::differentiable;
using graph::kFloats;
using graph::kNumbersAndBool;
using graph::OpKind;
using graph::ScalarCtx;
using graph::VjpCtx;
using graph::zero_derivative;
using loop::Op;

struct CopySign {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x, math::Scalar<B, T> sign) {
    return copysign(x, sign);
  }
};

template <class T>
uint32_t is_negative(loop::Builder& b, uint32_t x) {
  return (bits(math::Scalar<loop::Builder, T>(b, x)) < math::BitsOf<T>(0)).v;
}

constexpr graph::Vjp kPredicate = zero_derivative("a predicate is piecewise constant");

const OpDef kOps[] = {
    {.name = "is_finite",
     .kind = OpKind::Elementwise,
     .signature = "(isfinite x)",
     .doc = "Is it neither infinite nor NaN? Element-wise.",
     .examples = {{"(isfinite [1 inf nan])", "[true false false]"}},
     .arguments = Arguments::Tests,
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .complex = complex_both,
     .scalar =
         [](ScalarCtx& c) {
           DType t = c.b.type_of(c.x[0]);
           return is_float(t) ? c.b.lt(c.b.abs(c.x[0]), c.b.number(t, HUGE_VAL)) : c.b.boolean(true);
         },
     .reference1 = [](double x) { return double(std::isfinite(x)); }},
    {.name = "sign_bit",
     .kind = OpKind::Elementwise,
     .signature = "(signbit x)",
     .doc = "Is it negative? Element-wise; -0.0 is, and so may NaN be.",
     .examples = {{"(signbit [-1 -0.0 0])", "[true true false]"}},
     .arguments = Arguments::Tests,
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .scalar =
         [](ScalarCtx& c) {
           DType t = c.b.type_of(c.x[0]);
           if (t == DType::Bool) return c.b.boolean(false);
           if (!is_float(t)) return c.b.lt(c.x[0], c.b.number(t, 0));
           return t == DType::F64 ? is_negative<double>(c.b, c.x[0]) : is_negative<float>(c.b, c.x[0]);
         },
     .reference1 = [](double x) { return double(std::signbit(x)); }},
    {.name = "copy_sign",
     .kind = OpKind::Elementwise,
     .signature = "(copysign x sign)",
     .doc = "|x| with the sign of another number, of which -0.0 is negative.",
     .examples = {{"(copysign [1 -2 3] [-1 1 -0.0])", "[-1.  2. -3.]"}},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       if (!c.needs(0)) return;
       auto sign_bit = [](Operand x) { return apply1("sign_bit", std::move(x)); };
       c.grad(0, where(apply2("bit_xor", sign_bit(c.x(0)), sign_bit(c.x(1))), -c.dy(), c.dy()));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_formula2<CopySign>,
     .reference2 = [](double x, double sign) { return std::copysign(x, sign); },
     .cases = {.apart = true}},
    {.name = "trunc",
     .kind = OpKind::Elementwise,
     .signature = "(trunc x)",
     .doc = "Rounds towards zero; still a float.",
     .examples = {{"(trunc -2.7)", "-2.0"}},
     .of_numbers = {.f32 = std::trunc},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Trunc>,
     .sizes = kSameSizes,
     .reference1 = [](double x) { return std::trunc(x); }},
    {.name = "rint",
     .kind = OpKind::Elementwise,
     .signature = "(rint x)",
     .doc = "Nearest integer, halves to the even one; still a float. `round` takes halves away from zero.",
     .examples = {{"(rint [0.5 1.5 -2.5])", "[ 0.  2. -2.]"}},
     .of_numbers = {.f32 = std::nearbyint},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Rint>,
     .sizes = kSameSizes,
     .reference1 = [](double x) { return std::nearbyint(x); }},
};

}  // namespace

std::span<const OpDef> float_parts_ops() { return kOps; }

}  // namespace sheaf::ops
