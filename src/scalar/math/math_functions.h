// The expansions of elementary functions, by builder and value: `exp_f32(b, x)` appends to b the operations that
// compute exp of the f32 value x, and returns the result. scalar.h describes the builder. The code is straight-line (no
// branches, no tables), so it vectorises, and uses only operations whose bits are defined, so that all back ends give
// equal bits.
//
// Largest error found, in units of the last place. Tested for f32 unary functions: every float where the function is
// neither nearly linear nor constant (log, log2: from 1/16 to 16), one in 101 elsewhere; for the others: samples. sin,
// cos, tan: f32 up to |x| = 1e5, f64 up to 2^48; beyond, the absolute error of sin and cos is below 1e-7 and 4e-16.
// sigmoid: 2.31 and 1.99, where it is not denormal. erfinv matches XLA's approximation instead (special.h).
//
//          exp   exp2  expm1 log   log2  log1p tanh  sin   cos   tan   atan  erf   pow   atan2
//   f32    1.07  0.99  1.34  0.95  1.01  0.95  1.33  1.21  1.20  1.43  1.49  1.27  1.18  1.31
//   f64    0.99  0.85  1.50  0.77  0.77  0.78  1.18  1.02  1.03  1.03  1.13  0.92  1.16  1.40
#pragma once

#include "scalar/math/exp_log.h"
#include "scalar/math/special.h"
#include "scalar/math/threefry.h"
#include "scalar/math/trig.h"

namespace sheaf::scalar::math {

#define SHEAF_UNARY(name)                           \
  template <class B>                                \
  typename B::V name##_f32(B& b, typename B::V x) { \
    return name(Scalar<B, float>(b, x)).v;          \
  }                                                 \
  template <class B>                                \
  typename B::V name##_f64(B& b, typename B::V x) { \
    return name(Scalar<B, double>(b, x)).v;         \
  }
#define SHEAF_BINARY(name)                                           \
  template <class B>                                                 \
  typename B::V name##_f32(B& b, typename B::V x, typename B::V y) { \
    return name(Scalar<B, float>(b, x), Scalar<B, float>(b, y)).v;   \
  }                                                                  \
  template <class B>                                                 \
  typename B::V name##_f64(B& b, typename B::V x, typename B::V y) { \
    return name(Scalar<B, double>(b, x), Scalar<B, double>(b, y)).v; \
  }

SHEAF_UNARY(exp)
SHEAF_UNARY(decay)
SHEAF_UNARY(exp2)
SHEAF_UNARY(expm1)
SHEAF_UNARY(log)
SHEAF_UNARY(log2)
SHEAF_UNARY(log1p)
SHEAF_UNARY(tanh)
SHEAF_UNARY(sigmoid)
SHEAF_UNARY(sin)
SHEAF_UNARY(cos)
SHEAF_UNARY(tan)
SHEAF_UNARY(atan)
SHEAF_UNARY(erf)
SHEAF_UNARY(erfinv)
SHEAF_BINARY(pow)
SHEAF_BINARY(atan2)

#undef SHEAF_UNARY
#undef SHEAF_BINARY

}  // namespace sheaf::scalar::math
