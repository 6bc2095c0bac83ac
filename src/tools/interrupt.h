// Signals that stop a program (see builtins/host/process.h). Ctrl-C stops the running program, not the tool; pressed
// three times without effect, it ends the process. SIGTERM and SIGHUP set a flag for a program that calls
// (interrupted?); a second one at least a second later, or the first for any other program, ends the process as if
// there were no handler.
#pragma once

namespace sheaf::tools {

// The exit status of a program that Ctrl-C ended: 128 + SIGINT.
inline constexpr int kInterruptedStatus = 130;

// During its lifetime, on the thread that runs user code, Ctrl-C wakes blocking reads. Afterwards Ctrl-C does nothing:
// the program is over and exits as usual.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

}  // namespace sheaf::tools
