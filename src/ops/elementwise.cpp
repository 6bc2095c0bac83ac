// Arithmetic, comparison, logic, selection and conversion: one output element from the input elements at its place.
#include <cmath>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/rules.h"
#include "ops/scalar_rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kAnyType;
using graph::kFloats;
using graph::kIntegers;
using graph::kIntegersAndBool;
using graph::kNumbers;
using graph::kNumbersAndBool;
using graph::not_differentiable;
using graph::only;
using graph::OpKind;
using graph::ScalarCtx;
using graph::VjpCtx;
using graph::zero_derivative;
using loop::Op;

template <Op kOp>
uint32_t scalar_compare(ScalarCtx& c) {
  return c.b.compare(kOp, c.x[0], c.x[1]);
}

// On bools, + is or, * is and, - is exclusive or.
template <Op kOp, Op kBool>
uint32_t scalar_arithmetic(ScalarCtx& c) {
  return c.b.binary(c.type == DType::Bool ? kBool : kOp, c.x[0], c.x[1]);
}

// Adjoint for the winner of maximum/minimum: all of it to the first operand where `first_wins`.
void vjp_extremum(VjpCtx& c, Operand first_wins) {
  Operand zero = like(c.dy(), 0);
  if (c.needs(0)) c.grad(0, where(first_wins, c.dy(), zero));
  if (c.needs(1)) c.grad(1, where(first_wins, zero, c.dy()));
}

std::vector<TensorType> infer_cast(const InferCtx& c) { return {{c.attrs.get<DType>("dtype"), c.inputs[0].sizes}}; }

std::vector<TensorType> infer_where(const InferCtx& c) {
  Sizes s = broadcast_sizes(broadcast_sizes(c.inputs[0].sizes, c.inputs[1].sizes), c.inputs[2].sizes);
  return {{c.inputs[1].dtype, s}};
}

constexpr graph::Vjp kPredicate = zero_derivative("a predicate is piecewise constant");
constexpr graph::Vjp kIntegral = zero_derivative("defined on integers");

const OpDef kOps[] = {
    {.name = "add",
     .kind = OpKind::Elementwise,
     .doc = "Sum of two arrays; on bools, or.",
     .dtypes = kNumbersAndBool,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy());
       c.grad(1, c.dy());
     }),
     .batch = batch_elementwise,
     .scalar = scalar_arithmetic<Op::Add, Op::Or>,
     .cheap = true,
     .reference2 = [](double a, double b) { return a + b; }},
    {.name = "sub",
     .kind = OpKind::Elementwise,
     .doc = "Difference of two arrays.",
     .dtypes = kNumbersAndBool,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy());
       if (c.needs(1)) c.grad(1, -c.dy());
     }),
     .batch = batch_elementwise,
     .scalar = scalar_arithmetic<Op::Sub, Op::Xor>,
     .cheap = true,
     .reference2 = [](double a, double b) { return a - b; }},
    {.name = "mul",
     .kind = OpKind::Elementwise,
     .doc = "Product of two arrays; on bools, and.",
     .dtypes = kNumbersAndBool,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       if (c.needs(0)) c.grad(0, c.dy() * c.x(1));
       if (c.needs(1)) c.grad(1, c.dy() * c.x(0));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_arithmetic<Op::Mul, Op::And>,
     .cheap = true,
     .reference2 = [](double a, double b) { return a * b; }},
    {.name = "div",
     .kind = OpKind::Elementwise,
     .doc = "Quotient of two float arrays; x/0 is inf or NaN.",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       Operand g = c.dy() / c.x(1);
       if (c.needs(0)) c.grad(0, g);
       if (c.needs(1)) c.grad(1, -(g * c.y()));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Div>,
     .reference2 = [](double a, double b) { return a / b; }},
    {.name = "floor_div",
     .kind = OpKind::Elementwise,
     .doc = "Quotient rounded down; integer x//0 is 0.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::FloorDiv>,
     .reference2 = [](double a, double b) { return std::floor(a / b); }},
    {.name = "mod",
     .kind = OpKind::Elementwise,
     .doc = "Remainder with the sign of the divisor; integer x mod 0 is 0.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy());
       if (c.needs(1)) c.grad(1, -(c.dy() * apply2("floor_div", c.x(0), c.x(1))));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::FloorMod>,
     .reference2 = [](double a, double b) { return std::fmod(std::fmod(a, b) + b, b); }},
    {.name = "neg",
     .kind = OpKind::Elementwise,
     .doc = "Negation.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, -c.dy()); }),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Neg>,
     .cheap = true,
     .reference1 = [](double x) { return -x; }},
    {.name = "abs",
     .kind = OpKind::Elementwise,
     .doc = "Absolute value; the derivative at 0 is +1.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, where(less(c.x(0), like(c.x(0), 0)), -c.dy(), c.dy())); }),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Abs>,
     .cheap = true,
     .reference1 = [](double x) { return std::fabs(x); }},
    {.name = "maximum",
     .kind = OpKind::Elementwise,
     .doc = "Larger of two; NaN loses. The gradient goes to the first where a >= b.",
     .dtypes = kNumbersAndBool,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { vjp_extremum(c, less_equal(c.x(1), c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Max>,
     .cheap = true,
     .reference2 = [](double a, double b) { return std::fmax(a, b); }},
    {.name = "minimum",
     .kind = OpKind::Elementwise,
     .doc = "Smaller of two; NaN loses. The gradient goes to the first where a <= b.",
     .dtypes = kNumbersAndBool,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { vjp_extremum(c, less_equal(c.x(0), c.x(1))); }),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Min>,
     .cheap = true,
     .reference2 = [](double a, double b) { return std::fmin(a, b); }},
    {.name = "sign",
     .kind = OpKind::Elementwise,
     .doc = "-1, 0 or 1; NaN stays.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar =
         [](ScalarCtx& c) {
           uint32_t zero = c.b.number(c.type, 0), one = c.b.number(c.type, 1);
           uint32_t positive = c.b.select(c.b.gt(c.x[0], zero), one, c.x[0]);
           return c.b.select(c.b.lt(c.x[0], zero), c.b.neg(one), positive);
         },
     .reference1 = [](double x) { return x > 0   ? 1.0
                                         : x < 0 ? -1.0
                                                 : x; }},
    {.name = "floor",
     .kind = OpKind::Elementwise,
     .doc = "Rounds down.",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Floor>,
     .reference1 = [](double x) { return std::floor(x); }},
    {.name = "ceil",
     .kind = OpKind::Elementwise,
     .doc = "Rounds up.",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Ceil>,
     .reference1 = [](double x) { return std::ceil(x); }},
    {.name = "round",
     .kind = OpKind::Elementwise,
     .doc = "Rounds to the nearest integer, halves away from zero.",
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Round>,
     .reference1 = [](double x) { return std::round(x); }},
    {.name = "lt",
     .kind = OpKind::Elementwise,
     .doc = "a < b",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .scalar = scalar_compare<Op::Lt>,
     .cheap = true,
     .reference2 = [](double a, double b) { return double(a < b); }},
    {.name = "le",
     .kind = OpKind::Elementwise,
     .doc = "a <= b",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .scalar = scalar_compare<Op::Le>,
     .cheap = true,
     .reference2 = [](double a, double b) { return double(a <= b); }},
    {.name = "eq",
     .kind = OpKind::Elementwise,
     .doc = "a = b exactly",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .scalar = scalar_compare<Op::Eq>,
     .cheap = true,
     .reference2 = [](double a, double b) { return double(a == b); }},
    {.name = "near",
     .kind = OpKind::Elementwise,
     .doc = "a = b, or |a - b| < 1e-10",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .scalar =
         [](ScalarCtx& c) {
           uint32_t same = c.b.eq(c.x[0], c.x[1]);
           DType t = c.b.type_of(c.x[0]);
           if (!is_float(t)) return same;
           return c.b.or_(same, c.b.lt(c.b.abs(c.b.sub(c.x[0], c.x[1])), c.b.number(t, 1e-10)));
         },
     .reference2 = [](double a, double b) { return double(a == b || std::fabs(a - b) < 1e-10); }},
    {.name = "is_nan",
     .kind = OpKind::Elementwise,
     .doc = "Is it NaN?",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .scalar = [](ScalarCtx& c) { return c.b.ne(c.x[0], c.x[0]); },
     .reference1 = [](double x) { return double(std::isnan(x)); }},
    {.name = "is_inf",
     .kind = OpKind::Elementwise,
     .doc = "Is it infinite?",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .scalar =
         [](ScalarCtx& c) {
           DType t = c.b.type_of(c.x[0]);
           if (!is_float(t)) return c.b.boolean(false);
           return c.b.eq(c.b.abs(c.x[0]), c.b.number(t, HUGE_VAL));
         },
     .reference1 = [](double x) { return double(std::isinf(x)); }},
    {.name = "bit_and",
     .kind = OpKind::Elementwise,
     .doc = "Bitwise (bool: logical) and.",
     .dtypes = kIntegersAndBool,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::And>,
     .cheap = true},
    {.name = "bit_or",
     .kind = OpKind::Elementwise,
     .doc = "Bitwise (bool: logical) or.",
     .dtypes = kIntegersAndBool,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Or>,
     .cheap = true},
    {.name = "bit_xor",
     .kind = OpKind::Elementwise,
     .doc = "Bitwise (bool: logical) exclusive or.",
     .dtypes = kIntegersAndBool,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Xor>,
     .cheap = true},
    {.name = "bit_not",
     .kind = OpKind::Elementwise,
     .doc = "Bitwise (bool: logical) not.",
     .dtypes = kIntegersAndBool,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Not>,
     .cheap = true},
    {.name = "shift_left",
     .kind = OpKind::Elementwise,
     .doc = "Shift left, count modulo the width.",
     .dtypes = kIntegers,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Shl>},
    {.name = "shift_right",
     .kind = OpKind::Elementwise,
     .doc = "Logical shift right, count modulo the width.",
     .dtypes = kIntegers,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Shr>},
    {.name = "shift_right_signed",
     .kind = OpKind::Elementwise,
     .doc = "Arithmetic shift right, count modulo the width.",
     .dtypes = kIntegers,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Sar>},
    {.name = "where",
     .kind = OpKind::Elementwise,
     .doc = "Second operand where the first (Bool) is true, else the third.",
     .dtypes = kAnyType,
     .infer = infer_where,
     .vjp = differentiable([](VjpCtx& c) {
       Operand zero = like(c.dy(), 0);
       if (c.needs(1)) c.grad(1, where(c.x(0), c.dy(), zero));
       if (c.needs(2)) c.grad(2, where(c.x(0), zero, c.dy()));
     }),
     .batch = batch_elementwise,
     .scalar = [](ScalarCtx& c) { return c.b.select(c.x[0], c.x[1], c.x[2]); },
     .cheap = true},
    {.name = "cast",
     .kind = OpKind::Elementwise,
     .doc = "Converts to another dtype: float to int truncates and saturates, to bool is x != 0, to bf16 and f16 "
            "rounds to even.",
     .dtypes = kAnyType,
     .infer = infer_cast,
     .vjp = differentiable([](VjpCtx& c) {
       if (is_float(c.x(0).dtype()) && is_float(c.dy().dtype())) c.grad(0, cast(c.dy(), c.x(0).dtype()));
     }),
     .batch = batch_elementwise,
     .scalar =
         [](ScalarCtx& c) {
           // Integers narrower than the compute type wrap when stored; floats must saturate at the narrow type first.
           DType to = c.attrs.get<DType>("dtype");
           if (is_storage_only(to) && is_float(c.b.type_of(c.x[0])))
             return c.b.convert(c.b.convert(c.x[0], to), c.type);
           return c.b.convert(c.x[0], c.type);
         }},
    {.name = "stop_gradient",
     .kind = OpKind::Elementwise,
     .doc = "The value itself; no gradient flows through.",
     .dtypes = kAnyType,
     .infer = infer_elementwise,
     .vjp = zero_derivative("stops gradients"),
     .batch = batch_elementwise,
     .scalar = [](ScalarCtx& c) { return c.x[0]; }},
};

}  // namespace

std::span<const OpDef> elementwise_ops() { return kOps; }

}  // namespace sheaf::ops
