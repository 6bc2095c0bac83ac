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
// What is wrong with the value, or nothing.
std::optional<std::string> breach(const GuardCheck& c, const Value& v);

// Least and greatest element (NaN left out; lo > hi when there is none), and whether all are finite.
struct Extent {
  double lo, hi;
  bool finite;
};
Extent extent_of(const Tensor& t);
// A number as Rust's {:.2e} writes it: 1.20e-3.
std::string scientific(double x);

// Thrown when a guard fails; ends the program with status 1 (an ordinary error in the REPL).
struct GuardBreach {
  std::string check, message;
  std::string function;  // --guard: whose result it was
  UserError where;       // its place and stack, filled in on the way out; the message is above
};

}  // namespace sheaf::builtins
