// Functions of the language that are ops: each is made from the op's entry (signature, doc, examples, arguments), and
// these adapt the arguments of a call to its inputs. `Call::def.op` says which op it is.
#pragma once
#include "builtins/core/builtin.h"

namespace sheaf::builtins {

inline constexpr std::string_view kReductionOptions = "*axis keepdims dtype=";

// Arguments::Total and TotalOrNumber, Arguments::Position; in reduce.cpp.
Value total(Call& c);
Value position(Call& c);

}  // namespace sheaf::builtins
