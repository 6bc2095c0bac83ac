// What a program sees of the process it runs in, and what the tool sets up for it.
#pragma once
#include <string>
#include <vector>

namespace sheaf::builtins {

// Thrown by (exit n); not an error. The tool ends the process, the REPL leaves its loop.
struct ExitRequest {
  int code;
};

// What (args) and (options …) read: the words after the program's name.
void set_program_args(std::vector<std::string> args);

// For the tool's handler of Ctrl-C (safe in a signal handler). True: the program has asked (interrupted?) and this is the
// first Ctrl-C, which is its answer. False: the program is to be stopped.
bool interrupt_is_answer();
// Before each top-level run (a REPL line, a file): forgets earlier questions and answers.
void clear_interrupts();

}  // namespace sheaf::builtins
