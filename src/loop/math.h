// The elementary functions of the IR on C++ scalars.
#pragma once
#include <cmath>

#include "loop/ir.h"

namespace sheaf::loop {

// `y` is the second operand of Pow and Atan2.
template <Op op, class T>
inline T elementary(T x, [[maybe_unused]] T y = T{}) {
  if constexpr (op == Op::Exp) return std::exp(x);
  else if constexpr (op == Op::Log) return std::log(x);
  else if constexpr (op == Op::Sin) return std::sin(x);
  else if constexpr (op == Op::Cos) return std::cos(x);
  else if constexpr (op == Op::Tan) return std::tan(x);
  else if constexpr (op == Op::Tanh) return std::tanh(x);
  else if constexpr (op == Op::Pow) return std::pow(x, y);
  else if constexpr (op == Op::Erf) return std::erf(x);
  else if constexpr (op == Op::Expm1) return std::expm1(x);
  else if constexpr (op == Op::Log1p) return std::log1p(x);
  else if constexpr (op == Op::Atan2) return std::atan2(x, y);
  else return std::erf(x);
}

}  // namespace sheaf::loop
