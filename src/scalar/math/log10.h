// The logarithm to base 10 as straight-line scalar code (see scalar.h); exact for powers of ten.
#pragma once

#include "scalar/math/exp_log.h"

namespace sheaf::scalar::math {

namespace detail {
// log10(e) and log10(2) as hi + lo; the hi part of log10(2) has so few bits that its product with any exponent is
// exact.
template <class T>
struct Log10Constants;
template <>
struct Log10Constants<float> {
  static constexpr float kEHi = 0x1.bcb7b2p-2f, kELo = -0x1.5b235ep-27f;
  static constexpr float kTwoHi = 0x1.344000p-2f, kTwoLo = 0x1.3509f8p-18f;
};
template <>
struct Log10Constants<double> {
  static constexpr double kEHi = 0x1.bcb7b1526e50ep-2, kELo = 0x1.95355baaafad3p-57;
  static constexpr double kTwoHi = 0x1.34413509f7000p-2, kTwoLo = 0x1.3fde623e2566bp-43;
};
}  // namespace detail

// log10(x) = e log10(2) + log(1 + f) log10(e), the product in two parts so that results near 0 lose no bits.
template <class B, class T>
Scalar<B, T> log10(Scalar<B, T> x) {
  using C = detail::Log10Constants<T>;
  auto [f, e] = detail::reduce_log(x);
  auto tail = detail::log1p_tail(f);
  auto log_hi = f + tail, log_lo = tail - (log_hi - f);
  auto p = log_hi * C::kEHi;
  auto p_lo = fma(log_lo, C::kEHi, fma(log_hi, C::kELo, fma(log_hi, C::kEHi, -p)));
  auto whole = e * C::kTwoHi, y = whole + p;
  return detail::log_special(x, y + (p - (y - whole) + fma(e, C::kTwoLo, p_lo)));
}

}  // namespace sheaf::scalar::math
