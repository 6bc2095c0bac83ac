// print, println, pp, and their output buffer.
#include "builtins/host/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "builtins/core/numeric.h"
#include "builtins/core/text.h"
#include "builtins/host/families.h"
#include "support/mutex.h"
#include "support/terminal.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

struct Sink {
  Mutex mu;
  std::string buffer GUARDED_BY(mu);
  std::string* capture GUARDED_BY(mu) = nullptr;
  bool terminal = isatty(STDOUT_FILENO) == 1;
  std::string status GUARDED_BY(mu);         // the desired last line
  bool status_drawn GUARDED_BY(mu) = false;  // whether it is on screen
  Sink() {
    std::atexit([] {
      try {
        keep_status();
        flush_out();
      } catch (const UserError&) {  // no one is left to report to
      }
    });
  }
};

Sink& sink() {
  static auto* s = new Sink;
  return *s;
}

void write_buffer(Sink& s) REQUIRES(s.mu) {
  std::string text = std::move(s.buffer);
  s.buffer.clear();
  for (size_t at = 0; at < text.size();) {
    ssize_t n = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw UserError(ErrorKind::Io, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    at += static_cast<size_t>(n);
  }
}

constexpr std::string_view kEraseLine = "\r\x1b[K";

void hide_status(Sink& s) REQUIRES(s.mu) {
  if (s.status_drawn) s.buffer += kEraseLine;
  s.status_drawn = false;
}

void draw_status(Sink& s) REQUIRES(s.mu) {
  hide_status(s);
  s.buffer += s.status;
  s.status_drawn = !s.status.empty();
}

// The text of one value; a format string with values, formatted; else the texts separated by single spaces.
std::string line_text(const std::vector<Value>& args) {
  if (args.size() > 1 && args[0].is_string() && looks_like_format(args[0].as_string())) {
    std::vector<Value> values;
    for (size_t i = 1; i < args.size(); ++i)
      values.push_back(trace::concrete_tree(args[i]));
    return format_text(args[0].as_string(), values);
  }
  std::string out;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i > 0) out += ' ';
    out += text_of(args[i]);
  }
  return out;
}

// Removes `:end STR` from the arguments; every other keyword is a value to print.
std::string take_end(std::vector<Value>& args) {
  for (size_t i = 0; i + 1 < args.size(); ++i) {
    if (!args[i].is_keyword() || args[i].as_keyword().str() != "end") continue;
    std::string end = text_of(args[i + 1]);
    args.erase(args.begin() + static_cast<ptrdiff_t>(i), args.begin() + static_cast<ptrdiff_t>(i) + 2);
    return end;
  }
  return "\n";
}

Value print(Call& c) {
  std::string end = take_end(c.args);
  write_out(line_text(c.args) + end);
  if (!end.ends_with('\n')) flush_out();
  return {};
}

Value pp(Call& c) {
  int precision = 4, width = 100;
  for (size_t i = 1; i < c.size(); i += 2) {
    std::string name = c[i].is_keyword() ? c[i].as_keyword().str() : "";
    if ((name != "precision" && name != "width") || i + 1 == c.size())
      throw runtime_error(fmt::format("pp: unknown option {}. Known options: :precision N :width N", short_text(c[i])));
    auto n = static_cast<int>(std::clamp<int64_t>(to_index(c[i + 1], "pp"), 0, 10000));
    (name == "width" ? width : precision) = n;
  }
  write_out(pretty_text(trace::concrete_tree(c[0]), precision, width) + "\n");
  return {};
}

// (%say text): prints a line on standard error.
Value say(Call& c) {
  flush_out();
  std::fputs((text_of(c[0]) + "\n").c_str(), stderr);
  return {};
}

const BuiltinDef kBuiltins[] = {
    {"%say", "", "", "", {}, 1, 1, say, {}, Effect::Output},
    {"print",
     "Text and output",
     "(print x … [:end s])",
     "Prints the values with spaces between them and a newline (or s) at the end. If the first of several is a string "
     "with {} or {:…} in it, it is a "
     "format for the others.",
     {{"(print 1 :a [2 3])", "1 :a [2. 3.]"}, {"(print \"{} of {:.2f}\" 7 2.345)", "7 of 2.35"}},
     0,
     -1,
     print,
     {},
     Effect::Output},
    {"println",
     "Text and output",
     "(println x …)",
     "Like print, without options.",
     {{"(println \"a\" :end \"b\")", "a :end b"}},
     0,
     -1,
     [](Call& c) {
       write_out(line_text(c.args) + "\n");
       return Value();
     },
     {},
     Effect::Output},
    {"pp",
     "Text and output",
     "(pp x [:precision 4] [:width 100])",
     "Prints a value for reading: floats with few digits, long containers over several lines.",
     {{"(pp {:loss 0.123456 :step 7})", "{:loss 0.1235, :step 7}"}},
     1,
     5,
     pp,
     {},
     Effect::Output},
};

}  // namespace

namespace {
thread_local bool muted = false;
}

MutedOutput::MutedOutput() : before_(std::exchange(muted, true)) {}
MutedOutput::~MutedOutput() { muted = before_; }

void write_out(std::string_view text) {
  if (muted) return;
  Sink& s = sink();
  MutexLock lock(s.mu);
  if (s.capture) {
    s.capture->append(text);
    return;
  }
  hide_status(s);
  s.buffer.append(text);
  if (!s.status.empty() && text.ends_with('\n')) draw_status(s);
  if (s.buffer.size() >= kBufferBytes || (s.terminal && text.find('\n') != std::string_view::npos)) write_buffer(s);
}

void flush_out() {
  Sink& s = sink();
  MutexLock lock(s.mu);
  hide_status(s);
  write_buffer(s);
}

bool is_terminal_out() {
  static const bool dumb = std::getenv("TERM") && std::strcmp(std::getenv("TERM"), "dumb") == 0;
  Sink& s = sink();
  MutexLock lock(s.mu);
  return s.terminal && !dumb && !s.capture;
}

int terminal_width() {
  for (int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (int n = terminal_columns(fd); n > 0) return n;
  const char* columns = std::getenv("COLUMNS");
  int n = columns ? std::atoi(columns) : 0;
  return n > 0 ? n : 80;
}

void set_status(std::string text) {
  Sink& s = sink();
  MutexLock lock(s.mu);
  s.status = std::move(text);
  draw_status(s);
  write_buffer(s);
}

void keep_status() {
  Sink& s = sink();
  MutexLock lock(s.mu);
  if (s.status.empty()) return;
  if (!s.status_drawn) draw_status(s);
  s.buffer += '\n';
  s.status.clear();
  s.status_drawn = false;
  write_buffer(s);
}

std::string* set_capture(std::string* to) {
  Sink& s = sink();
  MutexLock lock(s.mu);
  return std::exchange(s.capture, to);
}

std::span<const BuiltinDef> output_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
