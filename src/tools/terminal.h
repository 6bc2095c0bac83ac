// Where the tool itself speaks: standard error, magenta on a terminal, always after the program's output so far.
#pragma once
#include <termios.h>

#include <string>
#include <string_view>

#include "advice/report.h"

namespace sheaf::tools {

bool is_terminal(int fd);
// A terminal that can move its cursor.
bool is_capable_terminal(int fd);
int terminal_width();   // of standard output, else standard error; 80 when neither is a terminal
int terminal_height();  // 24 when neither is one

// A text of one line, its end replaced by … where it needs more than `columns`.
std::string cut_to(std::string text, int columns);

// Keys come one by one, without echo and without signals, while this lives.
class RawMode {
 public:
  explicit RawMode(int fd);
  ~RawMode();
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;
  bool active() const { return active_; }

 private:
  int fd_;
  termios saved_{};
  bool active_ = false;
};

// How errors look on standard error: as wide as the terminal, else $COLUMNS, else 120 columns. Colours only on a
// terminal that is not dumb, and not with NO_COLOR.
advice::Look error_look();

// The report of an error.
void say_report(const UserError& e);
// Writes a line (or several); the newline is added unless the text ends with one.
void say(std::string_view text);
// The same without colour, for text that brings its own.
void say_plain(std::string_view text);

}  // namespace sheaf::tools
