// Argument checks of losses and scores, called by the library. They only test shapes, so compiled code does not contain
// them.
#include <fmt/format.h>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

bool is_array(const Value& v) { return is_tensor_value(v) && trace::operand_of(v).rank() > 0; }

// (%same-shape who a-name a b-name b): an error if two arrays have different shapes. Numbers broadcast, and other
// values are left to the operations that follow.
Value same_shape(Call& c) {
  const Value &a = c[2], &b = c[4];
  if (!is_array(a) || !is_array(b)) return Value::nil();
  Sizes x = trace::operand_of(a).sizes(), y = trace::operand_of(b).sizes();
  if (x == y) return Value::nil();
  throw caller_error(fmt::format("{}: {} {} and {} {} differ in shape", c[0].as_string(), c[1].as_string(),
                                 shape_text(x), c[3].as_string(), shape_text(y)))
      .hint(
          "arrays must have one shape here, only a number broadcasts; bring one to the shape of the other with "
          "reshape or squeeze");
}

// (%same-last-axis who a-name a b-name b): an error if the last axes of two arrays have different lengths.
Value same_last_axis(Call& c) {
  const Value &a = c[2], &b = c[4];
  if (!is_array(a) || !is_array(b)) return Value::nil();
  Operand x = trace::operand_of(a), y = trace::operand_of(b);
  if (x.size(x.rank() - 1) == y.size(y.rank() - 1)) return Value::nil();
  throw caller_error(fmt::format("{}: {} {} and {} {} differ in the last axis", c[0].as_string(), c[1].as_string(),
                                 shape_text(x.sizes()), c[3].as_string(), shape_text(y.sizes())))
      .hint("the vectors lie along the last axis and must have one length");
}

// (%class-column who logits targets): one class for each row of logits [..., V], as a column [N 1]. Either may be
// flattened to its rows; a single number applies to all rows.
Value class_column(Call& c) {
  Operand x = tensor_operand(c[1], c[0].as_string());
  if (x.rank() == 0)
    throw caller_error(fmt::format("{}: expected logits [..., classes], got a single number", c[0].as_string()))
        .hint("the last axis of the logits goes over the classes");
  if (!trace::is_numeric(c[2]))
    throw caller_error(fmt::format("{}: expected a tensor of targets, got {}", c[0].as_string(), type_name(c[2])));
  Operand y = as_array(c[2], c[0].as_string());
  Sizes rows = x.sizes();
  rows.pop_back();
  Size n = num_elems(rows);
  if (y.rank() == 0) return tensor_value(stretch(y, {n, 1}));
  bool flat = (x.rank() == 2 || y.rank() == 1) && num_elems(y.sizes()) == n;
  if (!flat && !(y.sizes() == rows))
    throw caller_error(fmt::format("{}: logits {} need targets {}, got {}", c[0].as_string(), shape_text(x.sizes()),
                                   shape_text(rows), shape_text(y.sizes())))
        .hint("there is one target, the number of a class, for each row of logits");
  return tensor_value(ops::reshape(y, {n, 1}));
}

const BuiltinDef kBuiltins[] = {
    {"%same-shape", "", "", "", {}, 5, 5, same_shape},
    {"%same-last-axis", "", "", "", {}, 5, 5, same_last_axis},
    {"%class-column", "", "", "", {}, 3, 3, class_column},
};

}  // namespace

std::span<const BuiltinDef> loss_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
