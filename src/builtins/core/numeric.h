// How built-ins see numbers: language kinds, weak scalars, promotion, indices, axes and shapes. Everything here accepts
// traced values.
#pragma once
#include <optional>

#include "builtins/core/builtin.h"
#include "ops/apply.h"
#include "ops/rules.h"
#include "trace/traced.h"

namespace sheaf::builtins {

using ops::Operand;
using trace::Kind;

struct Num {
  Operand x;
  Kind kind;
  const Value* value = nullptr;  // what it was made from, which outlives it
  bool is_scalar() const { return kind != Kind::Tensor; }
};

// A number or bool that is not traced, and what it is as a float.
inline bool is_plain_scalar(const Value& v) { return v.is_number() || v.is_bool(); }
inline float scalar_float(const Value& v) { return v.is_float() ? v.as_float() : static_cast<float>(v.as_int()); }

// Throws `Expected a number, got DESC`.
Num num(const Value& v);
// Both, throwing `Expected numbers, got DESC and DESC`.
std::pair<Num, Num> nums(const Value& a, const Value& b);

// The dtype two operands meet in: tensors promote, scalars are weak (decisions "Promotion").
DType common_dtype(const Num& a, const Num& b);
// The same in `d`; a float that meets f64 comes with all its digits.
Operand converted(const Num& n, DType d);
// A number on its way into arithmetic in `d`. An int that d cannot hold is an error; it would be another number there.
Operand in_dtype(const Num& n, DType d);
// The same of a bound: an int beyond all that d holds bounds nothing.
Operand bound_in_dtype(const Num& n, DType d, bool upper);
// Kind of a combination: two scalars give a scalar (int if both are int or bool, else float); a 0-d tensor with a
// scalar or another 0-d tensor gives a float, unless it is f64 or c64.
Kind common_kind(const Num& a, const Num& b);
// What an f32 of the program can stand for: f64 has more digits, c64 another part, and both stay 0-d tensors.
constexpr bool is_number_dtype(DType d) { return d != DType::F64 && !is_complex(d); }
// Ints become f32, narrow floats and c64 stay.
DType float_dtype(DType d);

// Applies a binary op after promotion. `to_float`: ints are computed in f32 (division).
Value binary(const ops::OpDef& op, const Value& a, const Value& b, bool to_float = false);
inline Value binary(std::string_view op, const Value& a, const Value& b, bool to_float = false) {
  return binary(ops::op(op), a, b, to_float);
}

// The truth of a value; a traced scalar or 0-d tensor by its current value.
bool is_true(const Value& v);
Value not_value(const Value& v);

// A whole number used as an index, a size or an axis: any numeric scalar or 1-element tensor. Floats without a fraction
// will do (shapes are f32 vectors): `WHO: expected a whole number, got 1.5`.
int64_t to_index(const Value& v, std::string_view who);
double to_double(const Value& v, std::string_view who);  // with all its digits
// The same where a size that is not known yet will do.
Size to_size(const Value& v, std::string_view who);
// The same of sizes and counts: `WHO: expected 0 or more, got -1`.
Size to_count(const Value& v, std::string_view who);
// Resolves a possibly negative index: `index 9 out of bounds for length 4`.
int64_t resolve_index(const Value& v, int64_t length);
Size resolve_index(const Value& v, Size length);
// A shape from a list or tensor of whole numbers (or one number), none negative unless `keep_negative`.
Sizes to_shape(const Value& v, std::string_view who, bool keep_negative = false);
// A list of ints from a list, tuple or tensor of whole numbers, or a single number.
std::vector<int64_t> to_ints(const Value& v, std::string_view who);
// The :axis option, resolved; nullopt when absent or nil.
std::optional<int> axis_option(const Call& c, int rank, std::string_view name = "axis");
DType to_dtype(const Value& v, std::string_view who);

// A tensor operand: throws `WHO: expected tensor, got TYPE` otherwise. `scalars` also lets numbers through.
Operand tensor_operand(const Value& v, std::string_view who, bool scalars = false);
// True for tensors and traced tensors.
bool is_tensor_value(const Value& v);
Value tensor_value(const Operand& o);  // kind Tensor
Value float_value(const Operand& o);   // kind Float: a 0-d operand as a scalar (f64 and c64 stay 0-d tensors)
Value digits_value(const Operand& o);  // kind Float: a 0-d operand of floats as a scalar with all its digits
// Warns about an i32 (0-d operand) that no float equals.
void warn_if_inexact(const Operand& o);
// An element taken out of a tensor (0-d operand): float, int or 0-d f64 by the dtype (decisions "Elements").
Value element_value(const Operand& o);
// Item i of axis 0: an element for rank 1, else a view.
Value row_value(const Operand& o, Size i);
// i64 operand of an index tensor (any numeric dtype). Fractions and NaN are errors; where the
// values are not known yet, they become an index that is out of range everywhere.
Operand index_operand(const Value& v, std::string_view who);
// i64 operand of whole numbers that are no indices (seeds, bounds). Where they are not known yet, a compiled run that
// meets a fraction or NaN fails, and the interpreted one that follows reports it.
Operand whole_operand(const Value& v, std::string_view who);

}  // namespace sheaf::builtins
