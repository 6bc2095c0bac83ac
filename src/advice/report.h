// How an error of the program is shown to the person who wrote it: message, place with its lines, notes, hints and
// stack. An error that brings no hint of its own gets general advice (hints.h). Pure functions; any thread.
#pragma once
#include <string>

#include "support/error.h"

namespace sheaf::advice {

// Where, notes, hints and stack: everything of the report after the message, without the empty line at its end.
std::string details(const UserError& e);
// The full report of the command line and the REPL, ending in an empty line.
std::string report(const UserError& e);

}  // namespace sheaf::advice
