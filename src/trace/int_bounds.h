// Bounds of ints in a trace. Most ints are counters and positions, whose arithmetic cannot overflow: compiled code
// checks only the others.
#pragma once
#include "graph/engine.h"

namespace sheaf::trace {

// An int argument is assumed to be below 2^this; a later call must satisfy that to use the code.
inline constexpr int kArgumentBits = 31;

// The possible values of a scalar int, by the `range` rules of the ops that computed it.
graph::IntRange int_range(const graph::Operand& x);
// The number of bits such that |x| < 2^bits for every possible value.
int int_bits(const graph::Operand& x);
// Records the bound of a node that its op does not tell (the index of a loop).
void bound_int(const graph::Operand& x, int64_t largest);
// The int y = a `op` b of i64 scalars, for an op with a `wrapped` rule. Adds a check if it may overflow: then the
// compiled run fails, and the interpreted run that follows reports the error.
graph::Operand checked_int(const graph::OpDef& op, const graph::Operand& a, const graph::Operand& b,
                           const graph::Operand& y);

bool holds_int(DType d, int64_t v);
// True if the int dtype d can represent every possible value of the scalar int x.
bool surely_holds(DType d, const graph::Operand& x);
// Converts the scalar int x, whose value is unknown, to the int dtype d. A compiled run with a value that d cannot
// represent fails, as above.
graph::Operand checked_narrow(const graph::Operand& x, DType d);
// The same for floats that must be whole numbers, converted to i64.
graph::Operand checked_whole(const graph::Operand& x);

}  // namespace sheaf::trace
