// Messages of the tool itself: to standard error, magenta on a terminal, always after the program's output so far.
#pragma once
#include <termios.h>

#include <string>
#include <string_view>

#include "advice/report.h"

namespace sheaf::tools {

bool is_terminal(int fd);
// True for a terminal that can move its cursor.
bool is_capable_terminal(int fd);
int terminal_width();   // of standard output, else standard error; 80 if neither is a terminal
int terminal_height();  // likewise; else 24

// A one-line text, truncated with … if it needs more than `columns`.
std::string cut_to(std::string text, int columns);

// Puts the terminal into raw mode for its lifetime: keys arrive one by one, without echo and without signals.
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

// The layout of errors on standard error: as wide as the terminal, else $COLUMNS, else 120 columns. Colours only on a
// terminal that is not dumb, and not with NO_COLOR.
advice::Look error_look();

// Prints the report of an error.
void say_report(const UserError& e);
// Prints one or more lines; adds a newline unless the text ends with one.
void say(std::string_view text);
// The same without colour, for text with its own.
void say_plain(std::string_view text);

}  // namespace sheaf::tools
