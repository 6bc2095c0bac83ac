// Elementary functions: element-wise, a scalar gives a float, an int tensor f32.
#include "builtins/arrays/families.h"
#include "builtins/core/numeric.h"

namespace sheaf::builtins {
namespace {

template <const char* kOp>
Value unary(Call& c) {
  return unary_float(kOp, c[0]);
}

constexpr char kExp[] = "exp", kLog[] = "log", kSqrt[] = "sqrt", kSin[] = "sin", kCos[] = "cos", kTan[] = "tan",
               kTanh[] = "tanh", kSigmoid[] = "sigmoid", kRound[] = "round", kCeil[] = "ceil", kFloor[] = "floor",
               kErf[] = "erf", kExpm1[] = "expm1", kLog1p[] = "log1p";

template <const char* kOp>
Value test(Call& c) {
  Num n = num(c[0]);
  DType d = n.is_scalar() ? DType::F32 : float_dtype(n.x.dtype());
  return trace::to_value(ops::apply1(kOp, ops::cast(n.x, d)), n.is_scalar() ? Kind::Bool : Kind::Tensor);
}
constexpr char kIsNan[] = "is_nan", kIsInf[] = "is_inf";

Value sign(Call& c) {
  Num n = num(c[0]);
  if (n.x.dtype() == DType::Bool || is_storage_only(n.x.dtype())) n.x = ops::cast(n.x, DType::I32);
  return trace::to_value(ops::apply1("sign", n.x), n.kind == Kind::Bool ? Kind::Int : n.kind);
}

// An int tensor as f32, everything else as it is: the operation that follows says what it thinks of it.
Value floating(Call& c) {
  if (!is_tensor_value(c[0]) || is_float(num(c[0]).x.dtype())) return c[0];
  return tensor_value(ops::cast(num(c[0]).x, DType::F32));
}

bool is_narrow_tensor(const Value& v) {
  if (!is_tensor_value(v)) return false;
  DType d = num(v).x.dtype();
  return is_float(d) && compute_type(d) != d;
}

// What is computed in several steps rounds narrow floats once, at the end: (%narrow (… (%wide x) …) x). Everything else
// stays as it is.
Value wide(Call& c) {
  return is_narrow_tensor(c[0]) ? tensor_value(ops::cast(num(c[0]).x, compute_type(num(c[0]).x.dtype()))) : c[0];
}
Value narrow(Call& c) {
  return is_narrow_tensor(c[1]) ? tensor_value(ops::cast(num(c[0]).x, num(c[1]).x.dtype())) : c[0];
}

const BuiltinDef kBuiltins[] = {
    {"exp", "Elementary functions", "(exp x)", "e to the power x.", {{"(exp 2)", "7.389056"}}, 1, 1, unary<kExp>},
    {"log",
     "Elementary functions",
     "(log x)",
     "Natural logarithm; of 0 -inf, of a negative number NaN.",
     {{"(log 1)", "0.0"}},
     1,
     1,
     unary<kLog>},
    {"sqrt", "Elementary functions", "(sqrt x)", "Square root.", {{"(sqrt 2)", "1.4142135"}}, 1, 1, unary<kSqrt>},
    {"sin", "Elementary functions", "(sin x)", "Sine (radians).", {{"(sin 0)", "0.0"}}, 1, 1, unary<kSin>},
    {"cos", "Elementary functions", "(cos x)", "Cosine (radians).", {{"(cos 0)", "1.0"}}, 1, 1, unary<kCos>},
    {"tan", "Elementary functions", "(tan x)", "Tangent (radians).", {{"(tan 0)", "0.0"}}, 1, 1, unary<kTan>},
    {"tanh", "Elementary functions", "(tanh x)", "Hyperbolic tangent.", {{"(tanh 0)", "0.0"}}, 1, 1, unary<kTanh>},
    {"%sigmoid", "", "", "", {}, 1, 1, unary<kSigmoid>},
    {"%floating", "", "", "", {}, 1, 1, floating},
    {"%wide", "", "", "", {}, 1, 1, wide},
    {"%narrow", "", "", "", {}, 2, 2, narrow},
    {"round",
     "Elementary functions",
     "(round x)",
     "Nearest integer, halves away from zero; still a float.",
     {{"(round -2.5)", "-3.0"}},
     1,
     1,
     unary<kRound>},
    {"ceil",
     "Elementary functions",
     "(ceil x)",
     "Rounds up; still a float.",
     {{"(ceil 1.2)", "2.0"}},
     1,
     1,
     unary<kCeil>},
    {"floor",
     "Elementary functions",
     "(floor x)",
     "Rounds down; still a float.",
     {{"(floor 7.9)", "7.0"}},
     1,
     1,
     unary<kFloor>},
    {"erf", "Elementary functions", "(erf x)", "Error function.", {{"(erf 0)", "0.0"}}, 1, 1, unary<kErf>},
    {"expm1",
     "Elementary functions",
     "(expm1 x)",
     "exp(x) - 1, accurate near 0.",
     {{"(expm1 0)", "0.0"}},
     1,
     1,
     unary<kExpm1>},
    {"log1p",
     "Elementary functions",
     "(log1p x)",
     "log(1 + x), accurate near 0.",
     {{"(log1p 0)", "0.0"}},
     1,
     1,
     unary<kLog1p>},
    {"atan2",
     "Elementary functions",
     "(atan2 y x)",
     "Angle of the point (x, y).",
     {{"(atan2 0 1)", "0.0"}},
     2,
     2,
     [](Call& c) { return binary("atan2", c[0], c[1], true); }},
    {"sign",
     "Elementary functions",
     "(sign x)",
     "-1, 0 or 1; keeps the dtype.",
     {{"(sign [-2 0 5])", "[-1.  0.  1.]"}},
     1,
     1,
     sign},
    {"isnan",
     "Elementary functions",
     "(isnan x)",
     "Is it NaN? Element-wise.",
     {{"(isnan [1 nan])", "[false true]"}},
     1,
     1,
     test<kIsNan>},
    {"isinf",
     "Elementary functions",
     "(isinf x)",
     "Is it infinite? Element-wise.",
     {{"(isinf [1 -inf])", "[false true]"}},
     1,
     1,
     test<kIsInf>},
};

}  // namespace

std::span<const BuiltinDef> math_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
