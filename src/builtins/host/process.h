// The process as seen by a program, and its setup by the tool.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// Thrown by (exit n); not an error. The tool ends the process, the REPL ends its loop.
struct ExitRequest {
  int code;
};

// Sets the words after the program's name, for (args) and (options …).
void set_program_args(std::vector<std::string> args);

// The results of (options …) by name, as text: a dict for checkpoints. Omits :path and :fresh, which only say where a
// training run is stored and whether it starts again.
Value program_options();

// Both are safe in a signal handler. Delivers a signal to a program that has called (interrupted?) and has no pending
// signal; returns false if no program will read it.
bool answer_with(int signal);
// The action of Ctrl-C: the first one sets the answer of (interrupted?), any other stops the program
// (support/interrupt.h).
void interrupt();
// Call around each top-level run (a REPL line, a file): clears earlier requests, questions and answers.
void clear_interrupts();

}  // namespace sheaf::builtins
