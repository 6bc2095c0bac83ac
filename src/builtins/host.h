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

// Ctrl-C. A program that has called (interrupted?) gets the first one as an answer to that question; the second, or the
// first if it never asked, sets `stop_requested`, which the evaluator polls.
void install_interrupt_handler();
bool stop_requested();
// Before each top-level run (a REPL line, a file): forgets earlier questions and interrupts.
void clear_interrupts();

}  // namespace sheaf::builtins
