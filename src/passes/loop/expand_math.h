// Elementary functions to arithmetic, for back ends that compute with neither templates nor libm.
#pragma once
#include "loop/ir.h"

namespace sheaf::passes {

// Replaces the elementary functions by the operations that define them (scalar/math). Same bits.
// Leaves: no operation from Op::Exp on.
loop::Kernel expand_math(const loop::Kernel& k);

}  // namespace sheaf::passes
