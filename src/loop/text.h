// Kernels as text. Values are numbered in the order in which they run; leaves (constants, sizes, loop variables,
// results of reductions) are printed at their uses, constants with their type and all bits.
// parse(print(k)) equals k.
//
//   kernel @add(b0: f32, b1: mut f32, s0) {
//     vector i0 < s0 {
//       v0: f32 = b0[i0]
//       v1: f32 = add(v0, f32(0x1p+0))
//       b1[i0] = v1
//     }
//   }
#pragma once
#include "loop/ir.h"
#include "support/scanner.h"

namespace sheaf::loop {

// Parses the next kernel of the text. Throws UserError with the position.
Kernel parse(Scanner& s);
// Equal up to the numbering of values.
bool equal(const Kernel& a, const Kernel& b);

inline constexpr std::string_view kCombineNames[] = {"sum", "prod", "max", "min", "argmax", "argmin"};
inline constexpr std::string_view kMarkNames[] = {"for", "free", "parallel", "vector"};
inline constexpr Op kLastOp = Op::ErfInv;

}  // namespace sheaf::loop
