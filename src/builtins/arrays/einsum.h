// Contractions by subscript. Other built-ins that contract use them too.
#pragma once
#include <string_view>

#include "builtins/core/numeric.h"

namespace sheaf::builtins {

// The dtype in which products are computed: bools and small ints become i32, except that two i8 operands stay i8 (with
// i32 results).
DType contraction_dtype(DType a, DType b);

// `subscript` needs an explicit `->`; the operands have one dtype that supports addition and multiplication. Throws
// UserError with einsum's messages.
Operand einsum(std::string_view subscript, std::vector<Operand> operands);

}  // namespace sheaf::builtins
