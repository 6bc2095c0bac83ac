// Expands elementary functions to arithmetic, for back ends that use neither templates nor libm.
#pragma once
#include "loop/ir.h"

namespace sheaf::passes {

// Replaces elementary functions by the operations that define them (scalar/math), and float remainders by arithmetic
// where quotients are not large. Same bits.
// Leaves: no operation from Op::Exp on; Op::Rem of floats only as the first operand of Op::Seldom.
loop::Kernel expand_math(const loop::Kernel& k);

}  // namespace sheaf::passes
