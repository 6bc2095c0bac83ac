// Standard output of the program being run. Text is collected and written in large pieces: at the end, when the program
// asks for input, before an error is reported, and at every newline on a terminal. Thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace sheaf::builtins {

void write_out(std::string_view text);
// Writes what is waiting. Call before anything else writes to the terminal.
void flush_out();
bool is_terminal_out();  // a terminal that colours and redraws, that is
int terminal_width();    // of standard output, else standard error, else $COLUMNS; 80 when none of them says
// The line at the bottom of a terminal, below whatever is printed; empty: none. Only for terminals.
void set_status(std::string text);
// What the status shows stays where it is, as a line, and there is no status any more.
void keep_status();
// While alive, what this thread writes is dropped.
class MutedOutput {
 public:
  MutedOutput();
  ~MutedOutput();
  MutedOutput(const MutedOutput&) = delete;

 private:
  bool before_;
};
// From now on text goes into *to instead (nullptr: to standard output again); returns the previous target.
std::string* set_capture(std::string* to);

}  // namespace sheaf::builtins
