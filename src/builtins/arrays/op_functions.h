// Functions of the language that are ops. Each is built from the op's entry (signature, doc, examples, arguments);
// these adapters convert the arguments of a call to the op's inputs. `Call::def.op` is the op.
#pragma once
#include "builtins/core/builtin.h"

namespace sheaf::builtins {

inline constexpr std::string_view kReductionOptions = "*axis keepdims dtype=";

// Arguments::Total and TotalOrNumber, Arguments::Position; in reduce.cpp.
Value total(Call& c);
Value position(Call& c);

}  // namespace sheaf::builtins
