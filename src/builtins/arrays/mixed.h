// Products in a smaller dtype than their operands for the duration of a call: the implementation of (mixed :bf16 f).
#pragma once
#include "builtins/core/builtin.h"
#include "builtins/core/numeric.h"

namespace sheaf::builtins {

// The dtype in which this thread computes f32 products: F32 outside `mixed`. It is part of the identity of compiled
// code (trace::Purpose): the same function inside and outside `mixed` is compiled twice.
DType mixed_dtype();
// A product of a and b, with f32 operands rounded to mixed_dtype(). `wide`: operands were rounded, and the result must
// be f32. Neither the result nor gradients are rounded.
Operand mixed_product(const Operand& a, const Operand& b,
                      const std::function<Operand(Operand a, Operand b, bool wide)>& product);
inline Operand mixed_dot(const Operand& a, const Operand& b) {
  return mixed_product(a, b, [](Operand x, Operand y, bool wide) {
    return wide ? ops::wide_dot(std::move(x), std::move(y)) : ops::dot(std::move(x), std::move(y));
  });
}

// (%with-contractions dtype f args)
Value with_contractions(Call& c);

}  // namespace sheaf::builtins
