// Run-time checks on values: the guard form and --guard.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "support/error.h"
#include "value/value.h"

namespace sheaf::builtins {

struct GuardCheck {
  enum Kind { NoNan, Range, Shape } kind = NoNan;
  double lo = 0, hi = 0;
  std::vector<int64_t> dims;
};
// "NoNan", "Range { lo: 0.0, hi: 1.0 }", "Shape([3, 4])"
std::string check_text(const GuardCheck& c);
// Describes why the value fails the check; nothing if it passes.
std::optional<std::string> breach(const GuardCheck& c, const Value& v);

// Minimum and maximum (ignoring NaN; lo > hi without any), and whether all elements are finite.
struct Extent {
  double lo, hi;
  bool finite;
};
Extent extent_of(const Tensor& t);
// A number in the format of Rust's {:.2e}: 1.20e-3.
std::string scientific(double x);

// Thrown when a guard fails; ends the program with status 1 (an ordinary error in the REPL).
struct GuardBreach {
  std::string check, message;
  std::string function;  // --guard: the function that returned the value
  UserError where;       // position and stack, filled in during unwinding; the message is above
};

}  // namespace sheaf::builtins
