// Ctrl-C as everything below the tools sees it: a request that whatever runs should stop.
#pragma once
#include <atomic>

#include "support/error.h"

namespace sheaf {

// Ctrl-C, or the end of the fuel. No catch clause of the program takes it: a loop that goes on after every error could
// not be stopped otherwise.
struct StopError : UserError {
  StopError(const char* message) : UserError(ErrorKind::Runtime, message) {}
};

// Set when the running program is to stop; the evaluator tests it at calls and backward jumps, and whatever else takes
// long or waits may. It stays set until the whole run has ended, since every thread of the program has to see it.
extern std::atomic<bool> g_interrupted;

// Throws StopError when the program is to stop.
void heed_interrupt();

}  // namespace sheaf
