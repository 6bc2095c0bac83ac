// Products in a smaller dtype than their operands, for the time of a call: what (mixed :bf16 f) does to f.
#pragma once
#include "builtins/core/builtin.h"
#include "builtins/core/numeric.h"

namespace sheaf::builtins {

// The dtype f32 products on this thread are formed in: F32 outside of `mixed`. Part of what identifies compiled code
// (trace::Purpose): the same function inside and outside of `mixed` is two.
DType mixed_dtype();
// A product of a and b, with f32 operands rounded to mixed_dtype(); `wide`: they are, and the result is to be f32.
// Neither that nor gradients are rounded.
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
