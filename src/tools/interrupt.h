// Ctrl-C stops the running program, not the tool (see builtins/host/process.h); pressed three times with nobody
// listening, it ends the process.
#pragma once

namespace sheaf::tools {

// What a shell sees of a program that Ctrl-C ended: 128 + SIGINT.
inline constexpr int kInterruptedStatus = 130;

// While one lives, on the thread that runs user code: its blocking reads are woken. Behind it Ctrl-C does nothing: the
// program is over and ends as it would.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

}  // namespace sheaf::tools
