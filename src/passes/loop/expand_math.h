// Elementary functions to arithmetic, for back ends that compute with neither templates nor libm.
#pragma once
#include "loop/ir.h"

namespace sheaf::passes {

// Replaces the elementary functions by the operations that define them (scalar/math), and remainders of floats by
// arithmetic where quotients are not large. Same bits.
// Leaves: no operation from Op::Exp on; Op::Rem of floats only as a first choice of Op::Seldom.
loop::Kernel expand_math(const loop::Kernel& k);

}  // namespace sheaf::passes
