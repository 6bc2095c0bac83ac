// Contractions by subscript. Also used by other built-ins that contract.
#pragma once
#include <string_view>

#include "builtins/core/numeric.h"

namespace sheaf::builtins {

// The dtype products are formed in: bools and small ints become i32, except that two i8 operands stay (and give i32).
DType contraction_dtype(DType a, DType b);

// `subscript` with an explicit `->`, operands of one dtype that can be added and multiplied. Throws UserError in the
// words of einsum.
Operand einsum(std::string_view subscript, std::vector<Operand> operands);

}  // namespace sheaf::builtins
