// Random numbers as functions of a key and a counter, with the values of jax.random. Keys are u32[2]; several keys at
// once are u32[K, 2].
#pragma once
#include "ops/apply.h"

namespace sheaf::ops {

// Threefry blocks for the counters start, start + 1, … (start: 0-d i64): keys u32[n, 2].
Operand threefry(Operand key, Operand start, Size n);
// Independent numbers for each of the keys [K, 2]: [K, n]. `what` is "bits" (u32 or i64), "uniform" in [0, 1), "normal"
// or "gumbel" (float dtypes).
Operand draw(std::string what, Operand keys, Size n, DType dtype);
// A number in [0, span) from two words of random bits per element, all of one dtype (u32, or i64 as unsigned).
Operand offset_from_bits(Operand high, Operand low, Operand span);
// Maps u in [0, 1) to [lo, hi).
Operand between(Operand u, Operand lo, Operand hi);
// The next representable number above (or below) x.
Operand next_after(Operand x, bool up);

}  // namespace sheaf::ops
