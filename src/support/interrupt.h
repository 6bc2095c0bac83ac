// Ctrl-C as seen below the tools: a request to stop whatever runs. Exceeding the memory limit is another such request.
#pragma once
#include <atomic>

#include "support/error.h"

namespace sheaf {

// Raised for Ctrl-C and for the end of fuel or memory. No catch clause of the program catches it: a loop that continues
// after every error could not be stopped otherwise.
struct StopError : UserError {
  explicit StopError(std::string message, bool asked_for = true)
      : UserError(ErrorKind::Runtime, std::move(message)), asked_for(asked_for) {}
  bool asked_for;  // by a user; else the program has failed
};

// Set when the running program must stop. The evaluator tests it at calls and backward jumps, and other long or waiting
// operations may. It stays set until the whole run has ended, because every thread of the program must see it.
extern std::atomic<bool> g_interrupted;

// Stops the program like Ctrl-C, but with this message instead of "Interrupted". Only the first call until the next
// clear has an effect.
void stop_with(const std::string& message);
// Clears all requests.
void clear_stop();
// The error to report for a program that g_interrupted stops.
StopError stop_error();

// Throws StopError if the program must stop.
void heed_interrupt();

}  // namespace sheaf
