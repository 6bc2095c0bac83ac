// x - y trunc(x / y), exactly, with the sign of x (see scalar.h).
#pragma once

#include <limits>

#include "scalar/math/scalar.h"

namespace sheaf::scalar::math {

// If the truncated quotient is exactly representable in T, it is at most one too large (the division rounds), and the
// remainder computed from it is exact. `exact(x, y)` computes any remainder, slowly; used for large quotients, NaN,
// infinite x and y = 0.
template <class B, class T, class F>
Scalar<B, T> remainder(Scalar<B, T> x, Scalar<B, T> y, F&& exact) {
  constexpr T kMost = T(int64_t{1} << (std::numeric_limits<T>::digits - 1));
  const auto ax = abs(x), ay = abs(y);
  const auto q = trunc(ax / ay);
  auto r = select(q == T(0), ax, fma(x.lit(0) - q, ay, ax));  // an infinite y has no multiples
  r = select(r < T(0), r + ay, r);
  return seldom(!(q < kMost), exact(x, y), copysign(r, x));
}

}  // namespace sheaf::scalar::math
