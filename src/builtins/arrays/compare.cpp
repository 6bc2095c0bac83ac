// Comparison and logic.
#include <fmt/format.h>

#include <cmath>

#include "builtins/arrays/arithmetic.h"
#include "builtins/arrays/families.h"
#include "builtins/core/warnings.h"
#include "trace/int_bounds.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using trace::to_value;

UserError no_order(const Value& a, const Value& b) {
  return runtime_error(fmt::format("complex numbers have no order: {} and {}", short_text(a), short_text(b)))
      .hint("(abs z) compares sizes; == and = compare complex numbers");
}

// A predicate of two numeric values: two scalars give a bool, anything else a bool tensor (0-d for 0-d operands).
// `swapped`: of the second and the first; errors name them as they are written.
Value predicate(std::string_view op, const Value& av, const Value& bv, bool swapped = false) {
  auto [a, b] = nums(av, bv);
  DType d = common_dtype(a, b);
  if (is_complex(d) && !ops::op(op).complex) throw no_order(av, bv);
  // An int beyond the dtype of the tensor has its place among the ints all the same.
  for (const Num* n : {&a, &b})
    if (n->kind == Kind::Int && is_int(d) && !trace::surely_holds(d, n->x)) d = DType::I64;
  if (swapped) {
    ops::broadcast_sizes(a.x.sizes(), b.x.sizes());
    std::swap(a, b);
  }
  return to_value(ops::apply2(op, converted(a, d), converted(b, d)),
                  a.is_scalar() && b.is_scalar() ? Kind::Bool : Kind::Tensor);
}

bool is_text(const Value& v) { return v.is_string() || v.is_keyword(); }

Value not_equal(const Value& a, const Value& b) {
  if (is_text(a) || is_text(b) || a.is_nil() || b.is_nil()) {
    bool same_kind = (a.is_string() && b.is_string()) || (a.is_keyword() && b.is_keyword());
    if (a.is_nil() && b.is_nil()) return Value::boolean(false);
    return Value::boolean(!same_kind || key_name(a).str() != key_name(b).str());
  }
  Value same = near_values(a, b);
  if (same.is_bool()) return Value::boolean(!same.as_bool());
  return to_value(ops::apply1("bit_not", trace::operand_of(same)), trace::kind_of(same));
}

bool is_unknown(const Value& v) { return v.is_traced() && !trace::operand_of(v).has_value(); }

bool is_array(const Value& v) { return (v.is_tensor() || v.is_traced()) && trace::operand_of(v).rank() > 0; }

// A number and an array are never equal as a whole; what is meant is a mask.
void warn_never_equal(const Value& a, const Value& b) {
  if (is_array(a) != is_array(b))
    warn(fmt::format("= compares whole values: {} and {} are never equal; == compares each element", short_text(a),
                     short_text(b)));
}

// Numbers whose values are not known while tracing compare as language_equal would: ints exactly, others as f32.
Value equal(const Value& a, const Value& b) {
  if (trace::is_numeric(a) && trace::is_numeric(b)) warn_never_equal(a, b);
  if ((is_unknown(a) || is_unknown(b)) && trace::is_numeric(a) && trace::is_numeric(b)) {
    Num x = num(a), y = num(b);
    if (x.is_scalar() && y.is_scalar()) {
      DType d = is_float(x.x.dtype()) || is_float(y.x.dtype()) ? DType::F32 : DType::I64;
      return to_value(ops::equal(ops::cast(x.x, d), ops::cast(y.x, d)), Kind::Bool);
    }
  }
  return Value::boolean(language_equal(trace::concrete_tree(a), trace::concrete_tree(b)));
}

Value logical(std::string_view op, const Value& a, const Value& b) {
  auto truth = [](const Value& v) { return ops::cast(num(v).x, DType::Bool); };
  bool scalars = num(a).is_scalar() && num(b).is_scalar();
  return to_value(ops::apply2(op, truth(a), truth(b)), scalars ? Kind::Bool : Kind::Tensor);
}

// `and` and `or` as values, (reduce and xs): every argument is there already. Calls by name are forms of the language.
template <bool kStopAt>
Value first_or_last(Call& c) {
  for (Value& v : c.args)
    if (is_true(v) == kStopAt || &v == &c.args.back()) return std::move(v);
  return Value::boolean(!kStopAt);
}

template <Cmp kOp>
Value compare(Call& c) {
  return compare_values(kOp, c[0], c[1]);
}

constexpr std::string_view kTwo = "Comparison: expected 2 arguments, got {}";

const BuiltinDef kBuiltins[] = {
    {"=",
     "Comparison",
     "(= a b)",
     "Structural equality, always a bool. Strings and keywords compare by text; arrays as a whole, by shape and "
     "elements: the mask of a comparison element by element is `==`.",
     {{"(= 2 2.0)", "true"}, {"(= \"k\" :k)", "true"}, {"(= [1 2] [1 3])", "false"}},
     2,
     2,
     [](Call& c) { return equal(c[0], c[1]); },
     {},
     Effect::None,
     "=: expected 2 arguments, got {}"},
    {"==",
     "Comparison",
     "(== a b)",
     "Element-wise equality within 1e-10.",
     {{"(== [1 2] [1 3])", "[true false]"}},
     2,
     2,
     [](Call& c) { return near_values(c[0], c[1]); },
     {},
     Effect::None,
     kTwo},
    {"!=",
     "Comparison",
     "(!= a b)",
     "Negation of ==.",
     {{"(!= [1 2] 2)", "[true false]"}},
     2,
     2,
     [](Call& c) { return not_equal(c[0], c[1]); },
     {},
     Effect::None,
     kTwo},
    {"<",
     "Comparison",
     "(< a b)",
     "Element-wise less than.",
     {{"(< 1 2)", "true"}},
     2,
     2,
     compare<Cmp::Lt>,
     {},
     Effect::None,
     kTwo},
    {">",
     "Comparison",
     "(> a b)",
     "Element-wise greater than.",
     {{"(> [5 1 7] 4)", "[true false true]"}},
     2,
     2,
     compare<Cmp::Gt>,
     {},
     Effect::None,
     kTwo},
    {"<=",
     "Comparison",
     "(<= a b)",
     "Element-wise less than or equal.",
     {{"(<= 2 2)", "true"}},
     2,
     2,
     compare<Cmp::Le>,
     {},
     Effect::None,
     kTwo},
    {">=",
     "Comparison",
     "(>= a b)",
     "Element-wise greater than or equal.",
     {{"(>= 1 2)", "false"}},
     2,
     2,
     compare<Cmp::Ge>,
     {},
     Effect::None,
     kTwo},
    {"not",
     "Logic",
     "(not x)",
     "True for false, nil and zero.",
     {{"(not nil)", "true"}},
     1,
     1,
     [](Call& c) { return not_value(c[0]); },
     {},
     Effect::None,
     "not: expected 1 argument, got {}"},
    {"and",
     "Logic",
     "(and e …)",
     "The first false value, or the last value. Called by name it stops at the first false one.",
     {{"(and 1 0 2)", "0"}, {"(reduce and '[1 2 3])", "3"}},
     0,
     -1,
     first_or_last<false>},
    {"or",
     "Logic",
     "(or e …)",
     "The first true value, or the last value. Called by name it stops at the first true one.",
     {{"(or nil 2)", "2"}, {"(reduce or '[0 nil 5])", "5"}},
     0,
     -1,
     first_or_last<true>},
    {"logical-and",
     "Logic",
     "(logical-and a b)",
     "Element-wise and of truth (nonzero).",
     {{"(logical-and [1 0] [1 1])", "[true false]"}},
     2,
     2,
     [](Call& c) { return logical("bit_and", c[0], c[1]); }},
    {"logical-or",
     "Logic",
     "(logical-or a b)",
     "Element-wise or of truth (nonzero).",
     {{"(logical-or [0 0] [1 0])", "[true false]"}},
     2,
     2,
     [](Call& c) { return logical("bit_or", c[0], c[1]); }},
    {"logical-xor",
     "Logic",
     "(logical-xor a b)",
     "Element-wise exclusive or of truth (nonzero).",
     {{"(logical-xor [1 0] [1 1])", "[false true]"}},
     2,
     2,
     [](Call& c) { return logical("bit_xor", c[0], c[1]); }},
    {"logical-not",
     "Logic",
     "(logical-not x)",
     "Element-wise not of truth (nonzero).",
     {{"(logical-not [1 0])", "[false true]"}},
     1,
     1,
     [](Call& c) {
       Num n = num(c[0]);
       return to_value(ops::apply1("bit_not", ops::cast(n.x, DType::Bool)), n.is_scalar() ? Kind::Bool : Kind::Tensor);
     }},
};

}  // namespace

Value compare_values(Cmp op, const Value& a, const Value& b) {
  if (is_plain_scalar(a) && is_plain_scalar(b)) {
    auto test = [op](auto x, auto y) {
      switch (op) {
        case Cmp::Lt: return x < y;
        case Cmp::Le: return x <= y;
        case Cmp::Gt: return x > y;
        case Cmp::Ge: return x >= y;
      }
      return false;
    };
    if (!a.is_float() && !b.is_float()) return Value::boolean(test(a.as_int(), b.as_int()));
    return Value::boolean(test(scalar_float(a), scalar_float(b)));
  }
  switch (op) {
    case Cmp::Lt: return predicate("lt", a, b);
    case Cmp::Le: return predicate("le", a, b);
    case Cmp::Gt: return predicate("lt", a, b, true);
    case Cmp::Ge: return predicate("le", a, b, true);
  }
  return {};
}

Value near_values(const Value& a, const Value& b) {
  if (is_text(a) || is_text(b) || a.is_nil() || b.is_nil())
    return Value::boolean(!trace::is_numeric(a) && !trace::is_numeric(b) && language_equal(a, b));
  if (is_plain_scalar(a) && is_plain_scalar(b)) {
    if (!a.is_float() && !b.is_float()) return Value::boolean(a.as_int() == b.as_int());
    float x = scalar_float(a), y = scalar_float(b);
    return Value::boolean(x == y || std::fabs(x - y) < 1e-10f);
  }
  return predicate("near", a, b);
}

std::span<const BuiltinDef> compare_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
