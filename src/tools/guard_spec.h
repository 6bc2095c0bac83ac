// `--guard [f:]check`: a check on the results of one function, or of all.
#pragma once
#include <optional>
#include <string>

#include "builtins/host/guard.h"

namespace sheaf::tools {

struct GuardSpec {
  std::string function;  // "": every function
  builtins::GuardCheck check;
};

// Parses "no-nan", "range:LO:HI", "shape:D:D…", each also as "f:…". Returns nothing for other texts.
std::optional<GuardSpec> parse_guard_spec(const std::string& text);

}  // namespace sheaf::tools
