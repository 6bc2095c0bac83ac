// Signals that stop a program (see builtins/host/process.h). Ctrl-C stops the running program, not the tool; pressed
// three times with nobody listening, it ends the process. SIGTERM and SIGHUP are for a program that asks
// (interrupted?); a second one, a second later or more, or the first for any other program ends the process as if
// there were no handler.
#pragma once

namespace sheaf::tools {

// What a shell sees of a program that Ctrl-C ended: 128 + SIGINT.
inline constexpr int kInterruptedStatus = 130;

// While one lives, on the thread that runs user code: Ctrl-C wakes its blocking reads. After that Ctrl-C does nothing:
// the program is over and ends as it would.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

}  // namespace sheaf::tools
