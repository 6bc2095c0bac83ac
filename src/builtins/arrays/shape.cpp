// Shapes, sizes, conversions, and questions about what a value is.
#include <fmt/format.h>

#include <cmath>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "ops/complex.h"
#include "trace/marks.h"
#include "trace/size_values.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using trace::kind_of;
using trace::operand_of;
using trace::to_value;

Value shape(Call& c) {
  if (c[0].is_list()) return Value::integer(static_cast<int64_t>(c[0].items().size()));
  Operand x = tensor_operand(c[0], "shape");
  if (c.size() > 1 && !c[1].is_nil()) return int_value(x.size(ops::check_axis(to_index(c[1], "shape"), x.rank())));
  return tensor_value(trace::sizes_operand(x.sizes(), DType::F32, false));
}

Value dims(Call& c) {
  std::vector<Value> out;
  for (Size n : tensor_operand(c[0], "dims").sizes())
    out.push_back(int_value(n));
  return Value::list(std::move(out));
}

Value length(Call& c) {
  const Value& v = c[0];
  if (v.is_seq()) return Value::integer(static_cast<int64_t>(v.items().size()));
  if (v.is_dict()) return Value::integer(static_cast<int64_t>(v.as_dict().size()));
  if (v.is_string()) return Value::integer(static_cast<int64_t>(v.as_string().size()));
  if (!is_tensor_value(v)) throw runtime_error(fmt::format("len: expected collection, got {}", type_name(v)));
  Operand x = operand_of(v);
  if (x.rank() == 0) throw runtime_error("len: expected collection, got a 0-d tensor");
  return int_value(x.size(0));
}

Value to_int(Call& c) {
  const Value& v = c[0];
  if (v.is_int()) return v;
  if (v.is_bool()) return Value::integer(v.as_bool());
  if (v.is_float()) return Value::integer(saturate_to_int(v.as_float()));
  if (!trace::is_numeric(v)) throw runtime_error(fmt::format("int expects a scalar or tensor, got {}", type_name(v)));
  Operand x = operand_of(v);
  ops::check_real(x, "int");
  if (kind_of(v) == Kind::Int) return v;
  if (x.rank() == 0) return to_value(ops::cast(x, DType::I64), Kind::Int);
  if (x.dtype() == DType::I64 || x.dtype() == DType::U32) return v;  // already whole numbers, which i32 might not hold
  if (is_float(x.dtype())) x = ops::apply1("floor", x);
  return tensor_value(ops::cast(x, DType::I32));
}

Value to_float(Call& c) {
  const Value& v = c[0];
  if (trace::is_numeric(v) && kind_of(v) == Kind::Float) return v;
  if (!trace::is_numeric(v))
    throw runtime_error(fmt::format("float expects a scalar or tensor, got {}", type_name(v)))
        .hint("to reduce a collection to one number, use (sum x)");
  ops::check_real(operand_of(v), "float");
  return to_value(ops::cast(operand_of(v), DType::F32), kind_of(v) == Kind::Tensor ? Kind::Tensor : Kind::Float);
}

Value cast(Call& c) {
  DType d = to_dtype(c[1], "cast");
  if (!trace::is_numeric(c[0]) && !c[0].is_list())
    throw runtime_error(fmt::format("cast: expected a tensor or a number, got {}", type_name(c[0])));
  // Ints of a list go straight to an integer dtype, so that large ones stay exact.
  if (!c[0].is_list()) {
    Num x = num(c[0]);
    if (is_complex(x.x.dtype()) && !is_complex(d) && d != DType::Bool) x.x = ops::real_part(x.x);
    Value out = tensor_value(converted(x, d));
    if (c[0].is_tensor() && c[0].as_tensor().dtype != d) release_converted(c[0].as_tensor());
    return out;
  }
  DType ints = !is_inexact(d) ? DType::I64 : d == DType::F64 ? DType::F64 : DType::F32;
  return tensor_value(ops::cast(array_operand(c[0], "cast", ints), d));
}

Value item(Call& c) {
  Operand x = tensor_operand(c[0], "item", true);
  if (c.size() == 1) {
    if (!(num_elems(x.sizes()) == Size(1)))
      throw runtime_error(
          fmt::format("item: a tensor of shape {} has {} elements", shape_text(x.sizes()), num_elems(x.sizes()).str()))
          .hint("give one index per axis: (item x i j)");
    x = ops::reshape(x, {});
  } else if (static_cast<int>(c.size()) - 1 != x.rank()) {
    throw runtime_error(fmt::format("item: {} indices for a {}D tensor", c.size() - 1, x.rank()));
  }
  for (size_t i = 1; i < c.size(); ++i)
    x = select_item(x, 0, c[i], "item");
  if (x.dtype() == DType::Bool) return to_value(x, Kind::Bool);
  if (is_complex(x.dtype())) return tensor_value(x);
  if (is_float(x.dtype())) return digits_value(x);
  return to_value(ops::cast(x, DType::I64), Kind::Int);
}

Value dtype(Call& c) {
  const Value& v = c[0];
  if (!trace::is_numeric(v)) throw runtime_error(fmt::format("dtype: expected tensor, got {}", type_name(v)));
  DType d = kind_of(v) == Kind::Int ? DType::I64 : operand_of(v).dtype();
  return Value::keyword(Name(name_of(d)));
}

bool has_kind(const Value& v, Kind k) { return trace::is_numeric(v) && kind_of(v) == k; }

template <bool (*kTest)(const Value&)>
Value ask(Call& c) {
  return Value::boolean(kTest(c[0]));
}

bool is_int_value(const Value& v) { return has_kind(v, Kind::Int); }
bool is_float_value(const Value& v) { return has_kind(v, Kind::Float); }
bool is_number_value(const Value& v) { return is_int_value(v) || is_float_value(v); }
bool is_string_value(const Value& v) { return v.is_string(); }
bool is_list_value(const Value& v) { return v.is_list(); }
bool is_dict_value(const Value& v) { return v.is_dict(); }
bool is_fn_value(const Value& v) { return v.is_callable(); }
bool is_nil_value(const Value& v) { return v.is_nil(); }

// Without an axis, all of them.
template <trace::SizeMark kMark>
Value mark(Call& c) {
  int rank = tensor_operand(c[0], kMark == trace::SizeMark::Dynamic ? "mark-dynamic" : "mark-static").rank();
  if (c.size() > 1) return trace::mark_size(c[0], ops::check_axis(to_index(c[1], "axis"), rank), kMark);
  Value x = c[0];
  for (int axis = 0; axis < rank; ++axis)
    x = trace::mark_size(x, axis, kMark);
  return x;
}

Value check(Call& c) {
  if (is_true(c[0])) return Value::boolean(true);
  throw runtime_error(c.size() > 1 ? render(trace::concrete_tree(c[1])) : "check failed");
}

constexpr std::string_view kShape = "Shape and size", kConvert = "Conversion", kTypes = "Types";

const BuiltinDef kBuiltins[] = {
    {"shape",
     kShape,
     "(shape x [axis])",
     "The sizes of a tensor as an f32 vector; with an axis, that size as an int. Of a list, its length.",
     {{"(shape (zeros [2 5]))", "[2. 5.]"}, {"(shape (zeros [2 5]) -1)", "5"}},
     1,
     2,
     shape},
    {"dims",
     kShape,
     "(dims x)",
     "The sizes of a tensor as a list of ints.",
     {{"(dims (zeros [2 3]))", "[2, 3]"}},
     1,
     1,
     dims},
    {"ndim",
     kShape,
     "(ndim x)",
     "The number of axes of a tensor.",
     {{"(ndim [[1 2]])", "2"}},
     1,
     1,
     [](Call& c) { return Value::integer(tensor_operand(c[0], "ndim").rank()); }},
    {"len",
     kShape,
     "(len x)",
     "Size of axis 0 of a tensor, entries of a list or dict, bytes of a string.",
     {{"(len [[1 2] [3 4] [5 6]])", "3"}, {"(len \"abc\")", "3"}},
     1,
     1,
     length},
    {"count", kShape, "(count x)", "Same as len.", {{"(count {:a 1 :b 2})", "2"}}, 1, 1, length},
    {"int",
     kConvert,
     "(int x)",
     "A scalar or 0-d tensor as an int, truncated toward zero; a tensor as i32, rounded down.",
     {{"(int -2.9)", "-2"}, {"(int [1.7 -0.2])", "[ 1 -1]"}},
     1,
     1,
     to_int},
    {"float",
     kConvert,
     "(float x)",
     "A number as a float; a tensor as f32.",
     {{"(float 3)", "3.0"}, {"(float (range 3))", "[0. 1. 2.]"}},
     1,
     1,
     to_float},
    {"cast",
     kConvert,
     "(cast x :dtype)",
     "Converts a tensor to another dtype (float to int truncates, to bf16 and f16 rounds to even); a number becomes a "
     "0-d tensor. Where a number as it is written meets f64, here or in arithmetic, it has all its digits.",
     {{"(cast [1.7 -1.7] :i32)", "[ 1 -1]"},
      {"(cast 3.14 :bf16)", "3.14"},
      {"(* [1 3] :f64 0.1)", "[                0.1 0.30000000000000004]"}},
     2,
     2,
     cast},
    {"item",
     kConvert,
     "(item x i …)",
     "One element as an exact int, float or bool.",
     {{"(item (arange 5) 3)", "3"}, {"(item [[1 2] [3 4]] 1 0)", "3.0"}},
     1,
     -1,
     item},
    {"dtype",
     kTypes,
     "(dtype x)",
     "The dtype of a tensor or number as a keyword.",
     {{"(dtype (arange 3))", ":i32"}},
     1,
     1,
     dtype},
    {"type",
     kTypes,
     "(type x)",
     "The type of any value as a keyword.",
     {{"(type \"a\")", ":string"}, {"(type [1 2])", ":tensor"}},
     1,
     1,
     [](Call& c) { return Value::keyword(Name(type_name(c[0]))); }},
    {"int?",
     kTypes,
     "(int? x)",
     "Is it an int?",
     {{"(int? 3)", "true"}, {"(int? 3.0)", "false"}},
     1,
     1,
     ask<is_int_value>},
    {"float?", kTypes, "(float? x)", "Is it a float?", {{"(float? 3.0)", "true"}}, 1, 1, ask<is_float_value>},
    {"number?",
     kTypes,
     "(number? x)",
     "Is it an int or a float?",
     {{"(number? [1 2])", "false"}},
     1,
     1,
     ask<is_number_value>},
    {"string?", kTypes, "(string? x)", "Is it a string?", {{"(string? \"a\")", "true"}}, 1, 1, ask<is_string_value>},
    {"list?",
     kTypes,
     "(list? x)",
     "Is it a list?",
     {{"(list? '[1 2])", "true"}, {"(list? [1 2])", "false"}},
     1,
     1,
     ask<is_list_value>},
    {"dict?", kTypes, "(dict? x)", "Is it a dict?", {{"(dict? {:a 1})", "true"}}, 1, 1, ask<is_dict_value>},
    {"tensor?", kTypes, "(tensor? x)", "Is it a tensor?", {{"(tensor? [1 2])", "true"}}, 1, 1, ask<is_tensor_value>},
    {"fn?", kTypes, "(fn? x)", "Can it be called?", {{"(fn? sum)", "true"}}, 1, 1, ask<is_fn_value>},
    {"nil?", kTypes, "(nil? x)", "Is it nil?", {{"(nil? nil)", "true"}}, 1, 1, ask<is_nil_value>},
    {"mark-dynamic",
     "Compilation",
     "(mark-dynamic x [axis])",
     "x itself; says that the size of the axis (of all axes) varies from call to call: compiled code serves all sizes "
     "from the first trace on. Say it of a tensor that a function is "
     "called with, or inside the function of its argument.",
     {{"(mark-dynamic [1 2] 0)", "[1. 2.]"}},
     1,
     2,
     mark<trace::SizeMark::Dynamic>},
    {"mark-static",
     "Compilation",
     "(mark-static x [axis])",
     "x itself; says that each size of the axis (of all axes) is worth code of its own: it is never left open.",
     {{"(mark-static [1 2] 0)", "[1. 2.]"}},
     1,
     2,
     mark<trace::SizeMark::Static>},
    {"check",
     "Compilation",
     "(check condition message)",
     "Raises the message unless the condition holds.",
     {{"(check (> 2 1) \"never\")", "true"}},
     1,
     2,
     check},
};

}  // namespace

std::span<const BuiltinDef> shape_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
