// Renders an error for the program's author: message, position with source lines, notes, hints and stack. An error
// without a hint of its own gets general advice (hints.h). Pure functions; any thread.
#pragma once
#include <cstdint>
#include <string>

#include "support/error.h"

namespace sheaf::advice {

// A source line wider than `width` columns is cut to the part around the carets, with "…" at each cut. For a terminal,
// prose is also word-wrapped and tabs become spaces, so that no line exceeds the width. `colour` paints each part by
// its role.
struct Look {
  int64_t width = 120;
  bool terminal = false;
  bool colour = false;
};

// The report after the message: position, notes, hints and stack, without the final empty line.
std::string details(const UserError& e, const Look& look = {});
// The full report of the command line and the REPL, ending in an empty line.
std::string report(const UserError& e, const Look& look = {});

}  // namespace sheaf::advice
