// How large ints in a trace can get. Most are counters and positions, whose arithmetic cannot overflow: only the rest
// is checked when compiled code runs.
#pragma once
#include "graph/engine.h"

namespace sheaf::trace {

// The int that an argument holds is taken to be below 2^this (and asked for, when the code is used again).
inline constexpr int kArgumentBits = 31;

// What a scalar int can be, by the `range` rules of the ops that it was computed with.
graph::IntRange int_range(const graph::Operand& x);
// |x| < 2^bits for all of these.
int int_bits(const graph::Operand& x);
// Says so of a node whose bound follows from elsewhere (the index of a loop).
void bound_int(const graph::Operand& x, int64_t largest);
// The int y = a `op` b of i64 scalars, for an op that has a `wrapped` rule, with a check where it may have overflowed:
// then the compiled run fails, and the interpreted one that follows reports it.
graph::Operand checked_int(const graph::OpDef& op, const graph::Operand& a, const graph::Operand& b,
                           const graph::Operand& y);

bool holds_int(DType d, int64_t v);
// Whether d, an int dtype, surely holds the scalar int x.
bool surely_holds(DType d, const graph::Operand& x);
// The scalar int x, whose value is not known, in the int dtype d: a compiled run that meets one it does not hold fails,
// as above.
graph::Operand checked_narrow(const graph::Operand& x, DType d);
// The same of floats that must be whole numbers, as i64.
graph::Operand checked_whole(const graph::Operand& x);

}  // namespace sheaf::trace
