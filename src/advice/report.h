// How an error of the program is shown to the person who wrote it: message, place with its lines, notes, hints and
// stack. An error that brings no hint of its own gets general advice (hints.h). Pure functions; any thread.
#pragma once
#include <cstdint>
#include <string>

#include "support/error.h"

namespace sheaf::advice {

// A source line that needs more than `width` columns is shown around the carets, with "…" where it is cut. On a
// terminal, prose is broken between words too and tabs become spaces, so that no line runs past the edge. `colour`
// paints each part by its role.
struct Look {
  int64_t width = 120;
  bool terminal = false;
  bool colour = false;
};

// Where, notes, hints and stack: everything of the report after the message, without the empty line at its end.
std::string details(const UserError& e, const Look& look = {});
// The full report of the command line and the REPL, ending in an empty line.
std::string report(const UserError& e, const Look& look = {});

}  // namespace sheaf::advice
