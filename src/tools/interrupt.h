// Ctrl-C stops the running program, not the tool (see builtins/host.h); pressed three times with nobody listening, it
// ends the process.
#pragma once

namespace sheaf::tools {

// What a shell sees of a program that Ctrl-C ended: 128 + SIGINT.
inline constexpr int kInterruptedStatus = 130;

// To be called on the thread that runs user code: its blocking reads are woken.
void install_interrupt_handler();

}  // namespace sheaf::tools
