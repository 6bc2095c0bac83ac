// The command line of a program as a dict.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// `defaults` (a dict) with the values given as `--name value`, `--name=value`, `--flag` or `--no-flag`, each read as
// the type of its default; `choices` (a dict or nil) has lists of what some of them may be. Words that are not options
// are left to (args), numbers below 0 too; `--` ends the options; `--help` prints the names and ends the program.
Value parse_program_options(Value defaults, const Value& choices, const std::vector<std::string>& words);

}  // namespace sheaf::builtins
