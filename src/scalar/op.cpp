#include "scalar/op.h"

namespace sheaf::scalar {

std::string_view name_of(Op op) {
  constexpr std::string_view names[] = {
      "const", "size", "index", "load",     "result",   "add",     "sub",     "mul",     "div",   "fma",   "neg",
      "abs",   "min",  "max",   "floordiv", "floormod", "rem",     "sqrt",    "floor",   "ceil",  "trunc", "rint",
      "round", "and",  "or",    "xor",      "not",      "shl",     "shr",     "sar",     "lt",    "le",    "gt",
      "ge",    "eq",   "ne",    "select",   "seldom",   "convert", "bitcast", "exp",     "log",   "sin",   "cos",
      "tan",   "tanh", "pow",   "erf",      "expm1",    "log1p",   "atan2",   "sigmoid", "erfinv"};
  return names[static_cast<int>(op)];
}

}  // namespace sheaf::scalar
