// Ctrl-C as everything below the tools sees it: a request that whatever runs should stop. Too much memory is another.
#pragma once
#include <atomic>

#include "support/error.h"

namespace sheaf {

// Ctrl-C, the end of the fuel or of the memory. No catch clause of the program takes it: a loop that goes on after
// every error could not be stopped otherwise.
struct StopError : UserError {
  explicit StopError(std::string message, bool asked_for = true)
      : UserError(ErrorKind::Runtime, std::move(message)), asked_for(asked_for) {}
  bool asked_for;  // by somebody; else the program has failed
};

// Set when the running program is to stop; the evaluator tests it at calls and backward jumps, and whatever else takes
// long or waits may. It stays set until the whole run has ended, since every thread of the program has to see it.
extern std::atomic<bool> g_interrupted;

// Stops the program as Ctrl-C does, with this message instead of "Interrupted". Once until the next clear.
void stop_with(const std::string& message);
// The requests so far are forgotten.
void clear_stop();
// What the report of a program says that g_interrupted stops.
StopError stop_error();

// Throws StopError when the program is to stop.
void heed_interrupt();

}  // namespace sheaf
