// Standard output of the program being run. Text is buffered and written in large blocks: at the end, when the program
// waits for input, before an error is reported, and at every newline on a terminal. Thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace sheaf::builtins {

void write_out(std::string_view text);
// Flushes the buffer. Call before anything else writes to the terminal.
void flush_out();
bool is_terminal_out();  // a terminal that supports colours and redrawing
int terminal_width();    // of standard output, else standard error, else $COLUMNS; else 80
// Sets the status line at the bottom of a terminal, below all output; empty: none. Only for terminals.
void set_status(std::string text);
// Turns the current status line into ordinary output and clears the status.
void keep_status();
// While alive, discards the output of this thread.
class MutedOutput {
 public:
  MutedOutput();
  ~MutedOutput();
  MutedOutput(const MutedOutput&) = delete;

 private:
  bool before_;
};
// Redirects text to *to (nullptr: to standard output again); returns the previous target.
std::string* set_capture(std::string* to);

}  // namespace sheaf::builtins
