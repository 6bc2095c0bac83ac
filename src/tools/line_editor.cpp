#include "tools/line_editor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "support/display_width.h"

namespace sheaf::tools {

// Control characters have their own codes.
enum LineEditor::Key : int {
  kEnd = -1,
  kNone = -2,
  kUp = 1000,
  kDown,
  kLeft,
  kRight,
  kHome,
  kEndOfLine,
  kDelete,
  kWordLeft,
  kWordRight,
  kKillWord,
  kNewline,
  kPaste,
};

namespace {

constexpr int control(char c) { return c & 0x1F; }
constexpr int kEscape = 27, kBackspace = 127;
constexpr int kEscapeTimeoutMs = 50;

bool is_continuation_byte(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || (c & 0x80) || c == '-' || c == '_' || c == '?' || c == '!' ||
         c == '*';
}

}  // namespace

bool LineEditor::enter_raw_mode() {
  raw_mode_.emplace(in_);
  if (!raw_mode_->active()) return false;
  write_all("\033[?2004h");  // bracketed paste
  return true;
}

void LineEditor::leave_raw_mode() {
  write_all("\033[?2004l");
  raw_mode_.reset();
}

void LineEditor::write_all(std::string_view s) {
  while (!s.empty()) {
    ssize_t n = write(out_, s.data(), s.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    s.remove_prefix(static_cast<size_t>(n));
  }
}

// Returns kEnd at the end of input, kNone after a timeout (negative: wait indefinitely).
int LineEditor::read_byte(int timeout_ms) {
  if (timeout_ms >= 0) {
    pollfd p{in_, POLLIN, 0};
    if (poll(&p, 1, timeout_ms) <= 0) return kNone;
  }
  unsigned char c;
  for (;;) {
    ssize_t n = ::read(in_, &c, 1);
    if (n == 1) return c;
    if (n < 0 && errno == EINTR) continue;
    return kEnd;
  }
}

int LineEditor::read_key() {
  int c = read_byte(-1);
  return c == kEscape ? read_escape() : c;
}

int LineEditor::read_escape() {
  int c = read_byte(kEscapeTimeoutMs);
  switch (c) {
    case 'b': return kWordLeft;
    case 'f': return kWordRight;
    case 'd': return kKillWord;
    case '\r':
    case '\n': return kNewline;
    case kBackspace: return control('W');
    default: break;
  }
  if (c != '[' && c != 'O') return kNone;
  std::string parameters;
  for (c = read_byte(kEscapeTimeoutMs); c >= 0 && (std::isdigit(c) || c == ';'); c = read_byte(kEscapeTimeoutMs))
    parameters += static_cast<char>(c);
  bool modified = parameters.find(';') != std::string::npos;
  switch (c) {
    case 'A': return kUp;
    case 'B': return kDown;
    case 'C': return modified ? kWordRight : kRight;
    case 'D': return modified ? kWordLeft : kLeft;
    case 'H': return kHome;
    case 'F': return kEndOfLine;
    case '~':
      if (parameters == "1" || parameters == "7") return kHome;
      if (parameters == "4" || parameters == "8") return kEndOfLine;
      if (parameters == "3") return kDelete;
      if (parameters == "200") return kPaste;
      return kNone;
    default: return kNone;
  }
}

std::string LineEditor::read_paste() {
  std::string out;
  while (!out.ends_with("\033[201~")) {
    int c = read_byte(-1);
    if (c == kEnd) return out;
    out += static_cast<char>(c);
  }
  out.resize(out.size() - 6);
  std::string clean;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\r') {
      clean += '\n';
      if (i + 1 < out.size() && out[i + 1] == '\n') ++i;
    } else if (out[i] == '\n' || out[i] == '\t' || static_cast<unsigned char>(out[i]) >= 32) {
      clean += out[i];
    }
  }
  return clean;
}

size_t LineEditor::previous(size_t at) const {
  if (at == 0) return 0;
  do
    --at;
  while (at > 0 && is_continuation_byte(text_[at]));
  return at;
}

size_t LineEditor::next(size_t at) const {
  if (at >= text_.size()) return text_.size();
  do
    ++at;
  while (at < text_.size() && is_continuation_byte(text_[at]));
  return at;
}

size_t LineEditor::word_left() const {
  size_t at = cursor_;
  while (at > 0 && !is_word_char(text_[at - 1]))
    --at;
  while (at > 0 && is_word_char(text_[at - 1]))
    --at;
  return at;
}

size_t LineEditor::word_right() const {
  size_t at = cursor_;
  while (at < text_.size() && !is_word_char(text_[at]))
    ++at;
  while (at < text_.size() && is_word_char(text_[at]))
    ++at;
  return at;
}

size_t LineEditor::line_begin(size_t at) const {
  size_t newline = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

size_t LineEditor::line_end(size_t at) const { return std::min(text_.find('\n', at), text_.size()); }

// The position of the character at `at` on screen, relative to the first row.
LineEditor::Place LineEditor::place_of(size_t at, int columns) const {
  Place p{0, prompt_width_};
  for (size_t i = 0; i < at; i = next(i)) {
    if (text_[i] == '\n') {
      p = {p.row + 1, prompt_width_};
      continue;
    }
    int width = static_cast<int>(display_width(std::string_view(text_).substr(i, next(i) - i)));
    if (p.column + width > columns) p = {p.row + 1, 0};
    p.column += width;
  }
  if (p.column >= columns) p = {p.row + 1, 0};
  return p;
}

// The hint, cut to one row: a second row would overwrite the lines above.
std::string LineEditor::hint_line(int columns) const {
  std::string hint = hooks_.hint ? hooks_.hint(text_, cursor_) : "";
  std::replace(hint.begin(), hint.end(), '\n', ' ');
  return cut_to(std::move(hint), columns - 1);
}

// Redraws the whole entry: entries are short, and this cannot get out of sync.
void LineEditor::draw(bool final) {
  int columns = std::max(terminal_width(), prompt_width_ + 4);
  std::string out = "\033[?25l";
  if (drawn_row_ > 0) out += fmt::format("\033[{}A", drawn_row_);
  out += "\r\033[J" + prompt_;
  std::vector<Style> styles = hooks_.highlight(text_, final ? std::string::npos : cursor_);
  Style current = Style::Plain;
  int column = prompt_width_;
  for (size_t i = 0; i < text_.size(); i = next(i)) {
    if (text_[i] == '\n') {
      out += std::string(style_code(Style::Plain)) + "\r\n" + continuation_;
      current = Style::Plain;
      column = prompt_width_;
      continue;
    }
    if (styles[i] != current) {
      current = styles[i];
      out += style_code(current);
    }
    std::string_view c = std::string_view(text_).substr(i, next(i) - i);
    int width = static_cast<int>(display_width(c));
    if (column + width > columns) {
      out += "\r\n";
      column = 0;
    }
    column += width;
    out += c == "\t" ? std::string_view(" ") : c;
  }
  out += style_code(Style::Plain);
  if (column >= columns) out += "\r\n";
  Place end = place_of(text_.size(), columns), at = final ? end : place_of(cursor_, columns);
  int below = end.row - at.row;  // rows from the cursor to the last one
  if (std::string hint = final || searching_ ? "" : hint_line(columns); !hint.empty()) {
    out += "\r\n\033[2m" + hint + "\033[0m";
    ++below;
  }
  if (below > 0) out += fmt::format("\033[{}A", below);
  out += "\r";
  if (at.column > 0) out += fmt::format("\033[{}C", at.column);
  out += "\033[?25h";
  drawn_row_ = at.row;
  write_all(out);
}

void LineEditor::insert(std::string_view s) {
  text_.insert(cursor_, s);
  cursor_ += s.size();
}

void LineEditor::erase(size_t from, size_t to, bool keep) {
  if (keep && to > from) killed_ = text_.substr(from, to - from);
  text_.erase(from, to - from);
  cursor_ = from;
}

void LineEditor::enter() {
  if (hooks_.is_finished(text_)) {
    done_ = true;
    return;
  }
  insert("\n" + std::string(indent_after(std::string_view(text_).substr(0, cursor_)), ' '));
}

void LineEditor::list(const std::vector<std::string>& words) {
  int columns = terminal_width();
  Place end = place_of(text_.size(), columns);
  std::string out;
  if (end.row > drawn_row_) out += fmt::format("\033[{}B", end.row - drawn_row_);
  size_t width = 0;
  for (const std::string& w : words)
    width = std::max(width, w.size() + 2);
  size_t per_row = std::max<size_t>(1, static_cast<size_t>(columns) / std::max<size_t>(width, 1));
  // The beginning of a list is more useful than a list that scrolls off the screen.
  size_t most_rows = static_cast<size_t>(std::max(terminal_height() - 3, 1));
  size_t shown = std::min(words.size(), most_rows * per_row);
  size_t rows = (shown + per_row - 1) / per_row;
  for (size_t r = 0; r < rows; ++r) {
    out += r == 0 ? "\r\n\033[J" : "\r\n";  // clears the hint
    for (size_t i = r; i < shown; i += rows)
      out += fmt::format("{:<{}}", words[i], i + rows < shown ? width : words[i].size());
  }
  if (shown < words.size()) out += fmt::format("\r\n… and {} more", words.size() - shown);
  write_all(out + "\r\n");
  drawn_row_ = 0;
}

void LineEditor::complete(bool again) {
  Completions c = hooks_.complete(text_, cursor_);
  if (c.words.empty()) return;
  std::string word = text_.substr(c.begin, cursor_ - c.begin);
  std::string common = c.words[0];
  for (const std::string& w : c.words)
    common.resize(std::mismatch(common.begin(), common.end(), w.begin(), w.end()).first - common.begin());
  if (common.size() > word.size())
    insert(common.substr(word.size()));
  else if (again && c.words.size() > 1)
    list(c.words);
}

void LineEditor::show_history(int by) {
  size_t n = history_.entries().size();
  if (by < 0 ? history_at_ == 0 : history_at_ == n) return;
  if (history_at_ == n) draft_ = text_;
  history_at_ += static_cast<size_t>(by);
  text_ = history_at_ == n ? draft_ : history_.entries()[history_at_];
  cursor_ = text_.size();
}

// Up and down move within an entry of several lines before they leave it.
void LineEditor::move_line(int by) {
  size_t begin = line_begin(cursor_), column = cursor_ - begin;
  if (by < 0) {
    if (begin == 0) return show_history(-1);
    size_t above = line_begin(begin - 1);
    cursor_ = std::min(above + column, begin - 1);
  } else {
    size_t end = line_end(cursor_);
    if (end == text_.size()) return show_history(1);
    cursor_ = std::min(end + 1 + column, line_end(end + 1));
  }
  while (cursor_ > 0 && cursor_ < text_.size() && is_continuation_byte(text_[cursor_]))
    --cursor_;
}

// Ctrl-R: the newest entry that contains the input; Ctrl-R again for older ones.
void LineEditor::search() {
  std::string pattern, saved = text_;
  size_t at = history_.entries().size();
  auto find_from = [&](size_t from) {
    for (size_t i = from; i-- > 0;)
      if (history_.entries()[i].find(pattern) != std::string::npos) return i;
    return history_.entries().size();
  };
  std::string prompt = std::exchange(prompt_, "");
  int width = prompt_width_;
  int key;
  searching_ = true;
  for (;;) {
    prompt_ = fmt::format("search '{}': ", pattern);
    prompt_width_ = static_cast<int>(display_width(prompt_));
    draw();
    key = read_key();
    if (key == control('R')) {
      if (size_t found = find_from(at); found < history_.entries().size()) at = found;
    } else if (key == kBackspace || key == control('H')) {
      if (!pattern.empty()) pattern.pop_back();
      at = find_from(history_.entries().size());
    } else if (key >= 32 && key < 256 && key != kBackspace) {
      pattern += static_cast<char>(key);
      at = find_from(std::min(at + 1, history_.entries().size()));
    } else {
      break;
    }
    if (at < history_.entries().size()) text_ = history_.entries()[at];
    cursor_ = std::min(text_.find(pattern), text_.size());
  }
  searching_ = false;
  prompt_ = std::move(prompt);
  prompt_width_ = width;
  if (key == control('C') || key == control('G')) {
    text_ = saved;
    cursor_ = text_.size();
  } else if (key == '\r') {
    cursor_ = text_.size();
    enter();
  }
}

void LineEditor::suspend() {
  draw(true);  // without the hint
  write_all("\r\n");
  leave_raw_mode();
  raise(SIGTSTP);
  enter_raw_mode();
  drawn_row_ = 0;
}

// Handles one key. Returns false for an unknown key.
bool LineEditor::handle(int key) {
  switch (key) {
    case '\r':
    case '\n': enter(); return true;
    case kNewline: insert("\n"); return true;
    case kPaste: insert(read_paste()); return true;
    case control('C'):
      outcome_ = Outcome::Interrupted;
      done_ = true;
      return true;
    case control('D'):
      if (!text_.empty())
        erase(cursor_, next(cursor_), false);
      else
        outcome_ = Outcome::EndOfInput, done_ = true;
      return true;
    case kEnd:
      outcome_ = Outcome::EndOfInput;
      done_ = true;
      return true;
    case kBackspace:
    case control('H'): erase(previous(cursor_), cursor_, false); return true;
    case kDelete: erase(cursor_, next(cursor_), false); return true;
    case kLeft:
    case control('B'): cursor_ = previous(cursor_); return true;
    case kRight:
    case control('F'): cursor_ = next(cursor_); return true;
    case kWordLeft: cursor_ = word_left(); return true;
    case kWordRight: cursor_ = word_right(); return true;
    case kHome:
    case control('A'): cursor_ = line_begin(cursor_); return true;
    case kEndOfLine:
    case control('E'): cursor_ = line_end(cursor_); return true;
    case kUp: move_line(-1); return true;
    case kDown: move_line(1); return true;
    case control('P'): show_history(-1); return true;
    case control('N'): show_history(1); return true;
    case control('K'): {
      size_t end = line_end(cursor_);
      erase(cursor_, end == cursor_ ? next(cursor_) : end, true);
      return true;
    }
    case control('U'): erase(line_begin(cursor_), cursor_, true); return true;
    case control('W'): erase(word_left(), cursor_, true); return true;
    case kKillWord: erase(cursor_, word_right(), true); return true;
    case control('Y'): insert(killed_); return true;
    case control('L'):
      write_all("\033[H\033[2J");
      drawn_row_ = 0;
      return true;
    case control('R'): search(); return true;
    case control('Z'): suspend(); return true;
    default: return false;
  }
}

LineEditor::Outcome LineEditor::edit() {
  int last = kNone;
  draw();
  while (!done_) {
    int key = read_key();
    if (key == '\t') {
      complete(last == '\t');
    } else if (!handle(key)) {
      if (key >= 32 && key < 256) {
        // The rest of a code point arrives at once; drawing half of one would garble it.
        std::string c(1, static_cast<char>(key));
        int more = key >= 0xF0 ? 3 : key >= 0xE0 ? 2 : key >= 0xC0 ? 1 : 0;
        for (int b; more > 0 && (b = read_byte(kEscapeTimeoutMs)) >= 0; --more)
          c += static_cast<char>(b);
        insert(c);
      }
    }
    last = key;
    pollfd more{in_, POLLIN, 0};
    if (!done_ && poll(&more, 1, 0) <= 0) draw();  // not within a burst of keys
  }
  cursor_ = text_.size();
  draw(true);
  write_all("\r\n");
  return outcome_;
}

LineEditor::Outcome LineEditor::read(const std::string& prompt, const std::string& continuation, int prompt_width,
                                     std::string& text) {
  prompt_ = prompt;
  continuation_ = continuation;
  prompt_width_ = prompt_width;
  text_.clear();
  draft_.clear();
  cursor_ = 0;
  drawn_row_ = 0;
  history_at_ = history_.entries().size();
  done_ = false;
  outcome_ = Outcome::Accepted;
  if (!enter_raw_mode()) return Outcome::EndOfInput;
  Outcome o = edit();
  leave_raw_mode();
  text = text_;
  return o;
}

}  // namespace sheaf::tools
