// Parses the command line of a program to a dict.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// Returns `defaults` (a dict) with the values given as `--name value`, `--name=value`, `--flag` or `--no-flag`, each
// parsed as the type of its default; `choices` (a dict or nil) lists the allowed values of some options. Other words,
// negative numbers too, are left for (args); `--` ends the options; `--help` prints the names and ends the program.
Value parse_program_options(Value defaults, const Value& choices, const std::vector<std::string>& words);

}  // namespace sheaf::builtins
