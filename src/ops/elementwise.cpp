// Arithmetic, comparison, logic, selection and conversion: one output element from the input elements at its place.
#include <algorithm>
#include <cmath>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/rules.h"
#include "ops/scalar_rules.h"
#include "ops/table.h"
#include "ops/value_rules.h"
#include "scalar/scalar_ops.h"

namespace sheaf::ops {
namespace {

using graph::Arguments;
using graph::differentiable;
using graph::kAnyReal;
using graph::kAnyType;
using graph::kFloats;
using graph::kIntegers;
using graph::kIntegersAndBool;
using graph::kNumbers;
using graph::kNumbersAndBool;
using graph::not_differentiable;
using graph::only;
using graph::OpKind;
using graph::RangeCtx;
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

// Where the attribute `checked` says so, an int divisor of zero is reported. Without it x // 0 and x mod 0 are 0.
template <Op kOp>
uint32_t scalar_quotient(ScalarCtx& c) {
  if (c.attrs.flag("checked")) c.b.check(c.b.ne(c.x[1], c.b.number(c.type, 0)), 0, c.b.i64(0));
  return c.b.binary(kOp, c.x[0], c.x[1]);
}
std::string zero_divisor_text(const graph::CheckCtx&) { return "integer division by zero"; }

// Adjoint for the winner of maximum/minimum: all of it to the first operand where `first_wins`.
void vjp_extremum(VjpCtx& c, Operand first_wins) {
  Operand zero = like(c.dy(), 0);
  if (c.needs(0)) c.grad(0, where(first_wins, c.dy(), zero));
  if (c.needs(1)) c.grad(1, where(first_wins, zero, c.dy()));
}

// Whether ints have wrapped is a matter of signs.
Operand both(const Operand& a, const Operand& b) { return apply2("bit_and", a, b); }
Operand differ(const Operand& a, const Operand& b) { return apply2("bit_xor", a, b); }
Operand negative(const Operand& x, const Operand& zero = constant_int(DType::I64, 0)) { return less(x, zero); }

// The quotient gives b back; of the least int by -1 it does too, but two negative factors have no negative product.
Operand wrapped_product(const Operand& a, const Operand& b, const Operand& y) {
  Operand zero = constant_int(DType::I64, 0), same = equal(apply2("floor_div", y, a), b);
  Operand wrong =
      apply2("bit_or", apply1("bit_not", same), both(negative(a, zero), both(negative(b, zero), negative(y, zero))));
  return both(apply1("bit_not", equal(a, zero)), wrong);
}

IntRange range_of_product(const RangeCtx& c) {
  IntRange a = c.in(0), b = c.in(1);
  __int128 ends[] = {__int128{a.lo} * b.lo, __int128{a.lo} * b.hi, __int128{a.hi} * b.lo, __int128{a.hi} * b.hi};
  return range_of(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4));
}

// a / b where that is whole in this call; it must then be so in others. Facts about expressions hold for positive
// divisors.
std::optional<Size> whole_quotient(Size a, Size b) {
  if (b == Size(0) || !(mod(a, b) == Size(0))) return std::nullopt;
  return floor_div(a, b);
}

std::vector<Attrs> each_dtype(DType) {
  std::vector<Attrs> out;
  for (int to = 0; to < kNumDTypes; ++to)
    if (kAnyReal.has(static_cast<DType>(to))) out.push_back({{"dtype", static_cast<DType>(to)}});
  return out;
}
constexpr graph::Domain kQuotients[][3] = {{{-3, 3}, {0.5, 2}}};
constexpr graph::Domain kRemainders[][3] = {
    {{0.5, 1.4}, {2.0, 2.3}}, {{-1.5, -0.6}, {2.0, 2.3}}, {{5.0, 5.9}, {2.0, 2.3}}};

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
     .complex = complex_by_parts,
     .scalar = scalar_arithmetic<Op::Add, Op::Or>,
     .cheap = true,
     .sizes = sizes_each<[](Size a, Size b) { return a + b; }>,
     .range =
         [](const RangeCtx& c) {
           IntRange a = c.in(0), b = c.in(1);
           return range_of(__int128{a.lo} + b.lo, __int128{a.hi} + b.hi);
         },
     .wrapped = [](const Operand& a, const Operand& b,
                   const Operand& y) { return negative(both(differ(a, y), differ(b, y))); },
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
     .complex = complex_by_parts,
     .scalar = scalar_arithmetic<Op::Sub, Op::Xor>,
     .cheap = true,
     .sizes = sizes_each<[](Size a, Size b) { return a - b; }>,
     .range =
         [](const RangeCtx& c) {
           IntRange a = c.in(0), b = c.in(1);
           return range_of(__int128{a.lo} - b.hi, __int128{a.hi} - b.lo);
         },
     .wrapped = [](const Operand& a, const Operand& b,
                   const Operand& y) { return negative(both(differ(a, b), differ(a, y))); },
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
     .complex = complex_mul,
     .scalar = scalar_arithmetic<Op::Mul, Op::And>,
     .cheap = true,
     .sizes = sizes_each<[](Size a, Size b) { return a * b; }>,
     .range = range_of_product,
     .wrapped = wrapped_product,
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
     .complex = complex_div,
     .scalar = scalar_binary<Op::Div>,
     .sizes = sizes_each<whole_quotient>,
     .reference2 = [](double a, double b) { return a / b; },
     .cases = {.smooth = kQuotients}},
    {.name = "floor_div",
     .kind = OpKind::Elementwise,
     .doc = "Quotient rounded down; integer x//0 is 0, or with `checked` an error.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_quotient<Op::FloorDiv>,
     .check_text = zero_divisor_text,
     .sizes = sizes_each<[](Size a, Size b) { return Size(0) < b ? std::optional(floor_div(a, b)) : std::nullopt; }>,
     .range = [](const RangeCtx& c) { return range_within(c.in(0)); },
     .divides = true,
     .reference2 = [](double a, double b) { return std::floor(a / b); }},
    {.name = "mod",
     .kind = OpKind::Elementwise,
     .doc = "Remainder with the sign of the divisor; integer x mod 0 is 0, or with `checked` an error.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy());
       if (c.needs(1)) c.grad(1, -(c.dy() * apply2("floor_div", c.x(0), c.x(1))));
     }),
     .batch = batch_elementwise,
     .scalar = scalar_quotient<Op::FloorMod>,
     .check_text = zero_divisor_text,
     .sizes = sizes_each<[](Size a, Size b) { return Size(0) < b ? std::optional(mod(a, b)) : std::nullopt; }>,
     .range = [](const RangeCtx& c) { return range_within(c.in(1)); },
     .divides = true,
     .reference2 = [](double a, double b) { return std::fmod(std::fmod(a, b) + b, b); },
     .cases = {.smooth = kRemainders}},
    {.name = "neg",
     .kind = OpKind::Elementwise,
     .doc = "Negation.",
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, -c.dy()); }),
     .batch = batch_elementwise,
     .complex = complex_by_parts,
     .scalar = scalar_unary<Op::Neg>,
     .cheap = true,
     .sizes = sizes_each<[](Size a) { return a * Size(-1); }>,
     .range =
         [](const RangeCtx& c) {
           IntRange x = c.in(0);
           return range_of(-__int128{x.hi}, -__int128{x.lo});
         },
     .reference1 = [](double x) { return -x; }},
    {.name = "abs",
     .kind = OpKind::Elementwise,
     .signature = "(abs x)",
     .doc = "Absolute value, a float.",
     .examples = {{"(abs -3)", "3.0"}},
     .category = "Arithmetic",
     .of_numbers = {.f32 = std::fabs},
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     // +1 at 0.
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, where(less(c.x(0), like(c.x(0), 0)), -c.dy(), c.dy())); }),
     .batch = batch_elementwise,
     .complex = complex_abs,
     .scalar = scalar_unary<Op::Abs>,
     .cheap = true,
     .range = [](const RangeCtx& c) { return range_within(c.in(0)); },
     .reference1 = [](double x) { return std::fabs(x); },
     .cases = {.apart = true}},
    {.name = "maximum",
     .kind = OpKind::Elementwise,
     .signature = "(maximum a b …)",
     .doc = "Element-wise larger of two or more arrays, broadcasting; NaN wins. The gradient goes to the first where "
            "it is at least as large.",
     .examples = {{"(maximum [1 5] [3 2])", "[3. 5.]"}, {"(maximum 2 7)", "7"}, {"(maximum [1 nan] 0)", "[ 1. NaN]"}},
     .category = "Reductions",
     .arguments = Arguments::Promoted,
     .of_numbers = {.f32_pair = scalar::max_of, .i64_pair = scalar::max_of},
     .dtypes = kNumbersAndBool,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { vjp_extremum(c, less_equal(c.x(1), c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Max>,
     .cheap = true,
     .sizes = sizes_each<[](Size a, Size b) { return max(a, b); }>,
     .range =
         [](const RangeCtx& c) {
           IntRange a = c.in(0), b = c.in(1);
           return IntRange{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
         },
     .bound = graph::Bound::Lower,
     .reference2 = [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); },
     .cases = {.apart = true}},
    {.name = "minimum",
     .kind = OpKind::Elementwise,
     .signature = "(minimum a b …)",
     .doc = "Element-wise smaller of two or more arrays, broadcasting; NaN wins. The gradient goes to the first where "
            "it is at most as large.",
     .examples = {{"(minimum [1 5] [3 2])", "[1. 2.]"}, {"(minimum 2 7)", "2"}},
     .category = "Reductions",
     .arguments = Arguments::Promoted,
     .of_numbers = {.f32_pair = scalar::min_of, .i64_pair = scalar::min_of},
     .dtypes = kNumbersAndBool,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { vjp_extremum(c, less_equal(c.x(0), c.x(1))); }),
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Min>,
     .cheap = true,
     .sizes = sizes_each<[](Size a, Size b) { return min(a, b); }>,
     .range =
         [](const RangeCtx& c) {
           IntRange a = c.in(0), b = c.in(1);
           return IntRange{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
         },
     .bound = graph::Bound::Upper,
     .reference2 = [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); },
     .cases = {.apart = true}},
    {.name = "sign",
     .kind = OpKind::Elementwise,
     .signature = "(sign x)",
     .doc = "-1, 0 or 1; keeps the dtype.",
     .examples = {{"(sign [-2 0 5])", "[-1.  0.  1.]"}},
     .arguments = Arguments::Same,
     .dtypes = kNumbers,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .complex = complex_sign,
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
     .signature = "(floor x)",
     .doc = "Rounds down; still a float.",
     .examples = {{"(floor 7.9)", "7.0"}},
     .of_numbers = {.f32 = std::floor},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Floor>,
     .sizes = kSameSizes,
     .reference1 = [](double x) { return std::floor(x); }},
    {.name = "ceil",
     .kind = OpKind::Elementwise,
     .signature = "(ceil x)",
     .doc = "Rounds up; still a float.",
     .examples = {{"(ceil 1.2)", "2.0"}},
     .of_numbers = {.f32 = std::ceil},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Ceil>,
     .sizes = kSameSizes,
     .reference1 = [](double x) { return std::ceil(x); }},
    {.name = "round",
     .kind = OpKind::Elementwise,
     .signature = "(round x)",
     .doc = "Nearest integer, halves away from zero; still a float.",
     .examples = {{"(round -2.5)", "-3.0"}},
     .of_numbers = {.f32 = std::round},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = zero_derivative("piecewise constant"),
     .batch = batch_elementwise,
     .scalar = scalar_unary<Op::Round>,
     .sizes = kSameSizes,
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
     .size_test = [](Size a, Size b) { return a < b; },
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
     .size_test = [](Size a, Size b) { return a <= b; },
     .reference2 = [](double a, double b) { return double(a <= b); }},
    {.name = "eq",
     .kind = OpKind::Elementwise,
     .doc = "a = b exactly",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .complex = complex_both,
     .scalar = scalar_compare<Op::Eq>,
     .cheap = true,
     .size_test = [](Size a, Size b) { return a == b; },
     .reference2 = [](double a, double b) { return double(a == b); }},
    {.name = "near",
     .kind = OpKind::Elementwise,
     .doc = "a = b, or |a - b| < 1e-10",
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .complex = complex_both,
     .scalar =
         [](ScalarCtx& c) {
           uint32_t same = c.b.eq(c.x[0], c.x[1]);
           DType t = c.b.type_of(c.x[0]);
           if (!is_float(t)) return same;
           return c.b.or_(same, c.b.lt(c.b.abs(c.b.sub(c.x[0], c.x[1])), c.b.number(t, 1e-10)));
         },
     .size_test = [](Size a, Size b) { return a == b; },
     .reference2 = [](double a, double b) { return double(a == b || std::fabs(a - b) < 1e-10); }},
    {.name = "is_nan",
     .kind = OpKind::Elementwise,
     .signature = "(isnan x)",
     .doc = "Is it NaN? Element-wise.",
     .examples = {{"(isnan [1 nan])", "[false true]"}},
     .arguments = Arguments::Tests,
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .complex = complex_either,
     .scalar = [](ScalarCtx& c) { return c.b.ne(c.x[0], c.x[0]); },
     .reference1 = [](double x) { return double(std::isnan(x)); }},
    {.name = "is_inf",
     .kind = OpKind::Elementwise,
     .signature = "(isinf x)",
     .doc = "Is it infinite? Element-wise.",
     .examples = {{"(isinf [1 -inf])", "[false true]"}},
     .arguments = Arguments::Tests,
     .dtypes = kNumbersAndBool,
     .infer = infer_predicate,
     .vjp = kPredicate,
     .batch = batch_elementwise,
     .complex = complex_either,
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
     .cheap = true,
     .cases = {.inputs = 2}},
    {.name = "bit_or",
     .kind = OpKind::Elementwise,
     .doc = "Bitwise (bool: logical) or.",
     .dtypes = kIntegersAndBool,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Or>,
     .cheap = true,
     .cases = {.inputs = 2}},
    {.name = "bit_xor",
     .kind = OpKind::Elementwise,
     .doc = "Bitwise (bool: logical) exclusive or.",
     .dtypes = kIntegersAndBool,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Xor>,
     .cheap = true,
     .cases = {.inputs = 2}},
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
     .scalar = scalar_binary<Op::Shl>,
     .cases = {.inputs = 2}},
    {.name = "shift_right",
     .kind = OpKind::Elementwise,
     .doc = "Logical shift right, count modulo the width.",
     .dtypes = kIntegers,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Shr>,
     .cases = {.inputs = 2}},
    {.name = "shift_right_signed",
     .kind = OpKind::Elementwise,
     .doc = "Arithmetic shift right, count modulo the width.",
     .dtypes = kIntegers,
     .infer = infer_elementwise,
     .vjp = kIntegral,
     .batch = batch_elementwise,
     .scalar = scalar_binary<Op::Sar>,
     .cases = {.inputs = 2}},
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
     .cheap = true,
     .range = [](const RangeCtx& c) { return range_union(c.in(1), c.in(2)); },
     .cases = {.inputs = 3, .condition = true}},
    {.name = "cast",
     .kind = OpKind::Elementwise,
     .doc = "Converts to another dtype: float to int truncates and saturates, to bool is x != 0, to bf16 and f16 "
            "rounds to even.",
     .converts = true,
     .dtypes = kAnyReal,
     .infer = infer_cast,
     .vjp = differentiable([](VjpCtx& c) {
       if (is_float(c.x(0).dtype()) && is_float(c.dy().dtype())) c.grad(0, cast(c.dy(), c.x(0).dtype()));
     }),
     .batch = batch_elementwise,
     .complex = complex_cast,
     .scalar =
         [](ScalarCtx& c) {
           // Integers narrower than the compute type wrap when stored; floats must saturate at the narrow type first.
           DType to = c.attrs.get<DType>("dtype");
           if (is_storage_only(to) && is_float(c.b.type_of(c.x[0])))
             return c.b.convert(c.b.convert(c.x[0], to), c.type);
           return c.b.convert(c.x[0], c.type);
         },
     .sizes = kSameSizes,
     .range = [](const RangeCtx& c) { return c.in(0); },
     .cases = {.attrs = each_dtype}},
    {.name = "stop_gradient",
     .kind = OpKind::Elementwise,
     .doc = "The value itself; no gradient flows through.",
     .dtypes = kAnyType,
     .infer = infer_elementwise,
     .vjp = zero_derivative("stops gradients"),
     .batch = batch_elementwise,
     .scalar = [](ScalarCtx& c) { return c.x[0]; },
     .sizes = kSameSizes},
};

}  // namespace

std::span<const OpDef> elementwise_ops() { return kOps; }

}  // namespace sheaf::ops
