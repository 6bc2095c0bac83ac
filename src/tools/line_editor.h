// Edits one entry, possibly of several lines, on a terminal: Emacs keys and arrows, history, completion, colours,
// hints. Changes the terminal's mode only while `read` runs.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/highlight.h"
#include "tools/history.h"
#include "tools/terminal.h"

namespace sheaf::tools {

struct Completions {
  size_t begin = 0;  // where the word before the cursor starts
  std::vector<std::string> words;
};

struct EditorHooks {
  std::function<Completions(const std::string& text, size_t cursor)> complete;
  std::function<std::vector<Style>(const std::string& text, size_t cursor)> highlight;
  // True if Enter ends the entry; otherwise it starts a new line.
  std::function<bool(const std::string& text)> is_finished;
  // One line about the current input, shown dim below the entry; "" for none.
  std::function<std::string(const std::string& text, size_t cursor)> hint;
};

class LineEditor {
 public:
  enum class Outcome { Accepted, Interrupted, EndOfInput };

  LineEditor(int in, int out, History& history, EditorHooks hooks)
      : in_(in), out_(out), history_(history), hooks_(std::move(hooks)) {}
  // Prompts may contain escape sequences; their visible widths must be equal.
  Outcome read(const std::string& prompt, const std::string& continuation, int prompt_width, std::string& text);

 private:
  struct Place {
    int row, column;
  };
  enum Key : int;

  int read_byte(int timeout_ms);
  int read_key();
  int read_escape();
  std::string read_paste();
  Outcome edit();
  bool handle(int key);
  void insert(std::string_view s);
  void erase(size_t from, size_t to, bool keep);
  void enter();
  void complete(bool again);
  void list(const std::vector<std::string>& words);
  void move_line(int by);
  void show_history(int by);
  void search();
  void suspend();
  size_t previous(size_t at) const;
  size_t next(size_t at) const;
  size_t word_left() const;
  size_t word_right() const;
  size_t line_begin(size_t at) const;
  size_t line_end(size_t at) const;
  Place place_of(size_t at, int columns) const;
  void draw(bool final = false);
  void write_all(std::string_view s);
  std::string hint_line(int columns) const;
  bool enter_raw_mode();
  void leave_raw_mode();

  int in_, out_;
  History& history_;
  EditorHooks hooks_;
  std::string prompt_, continuation_;
  int prompt_width_ = 0;
  std::string text_, killed_, draft_;  // draft_: the input before the history was opened
  size_t cursor_ = 0;
  size_t history_at_ = 0;
  int drawn_row_ = 0;  // row of the terminal's cursor, relative to the first row of the entry
  bool searching_ = false;
  bool done_ = false;
  std::optional<RawMode> raw_mode_;
  Outcome outcome_ = Outcome::Accepted;
};

}  // namespace sheaf::tools
