// What a program sees of the process it runs in, and what the tool sets up for it.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// Thrown by (exit n); not an error. The tool ends the process, the REPL leaves its loop.
struct ExitRequest {
  int code;
};

// What (args) and (options …) read: the words after the program's name.
void set_program_args(std::vector<std::string> args);

// What (options …) has given, by name, as text: a dict for checkpoints. Without :path and :fresh, which say where a
// training is kept and whether it begins again, not what it does.
Value program_options();

// Both are safe in a signal handler. A signal answers a program that has asked (interrupted?) and has no answer yet;
// false: nobody is going to hear of it.
bool answer_with(int signal);
// What Ctrl-C does: the first one answers, any other stops the program (support/interrupt.h).
void interrupt();
// Around each top-level run (a REPL line, a file): forgets earlier requests, questions and answers.
void clear_interrupts();

}  // namespace sheaf::builtins
