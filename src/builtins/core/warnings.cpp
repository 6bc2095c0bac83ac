#include "builtins/core/warnings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "support/mutex.h"
#include "support/terminal.h"
#include "support/wrap.h"
#include "trace/traced.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

struct State {
  Mutex mu;
  std::set<uint64_t> seen GUARDED_BY(mu);  // places
  std::set<uint32_t> strict GUARDED_BY(mu);
};

State& state() {
  static auto* s = new State;
  return *s;
}

}  // namespace

void make_strict(uint32_t source) {
  MutexLock lock(state().mu);
  state().strict.insert(source);
}

bool is_strict(uint32_t source) {
  MutexLock lock(state().mu);
  return state().strict.count(source) > 0;
}

namespace {

constexpr std::string_view kLocation = "\033[36m", kWarning = "\033[33m";  // the first as in reports of errors
constexpr int64_t kHanging = 2;
constexpr char kStrictHint[] = "(use strict) makes this warning an error";

void write_warning(Span span, const std::string& message) {
  {
    MutexLock lock(state().mu);
    if (!state().seen.insert((uint64_t{span.source} << 32) | span.begin).second) return;
  }
  std::string at = place(span);
  std::string text = fmt::format("{}{}warning: {}\n", at, at.empty() ? "" : ": ", message);
  if (int columns = terminal_columns(STDERR_FILENO); columns > 0) text = wrapped(text, columns, kHanging);
  if (shows_colour(STDERR_FILENO))
    text = painted(kLocation, text.substr(0, at.size())) + painted(kWarning, text.substr(at.size()));
  std::fputs(text.c_str(), stderr);
}

}  // namespace

void warn(const std::string& message) {
  Span span = trace::current_span();
  if (is_strict(span.source)) throw runtime_error(message).hint(kStrictHint);
  write_warning(span, message);
}

void warn_of(const UserError& e) {
  if (is_strict(e.span.source)) throw UserError(e).hint(kStrictHint);
  std::string text = e.message;
  for (const std::string& hint : e.hints)
    text += (text.ends_with('.') ? " " : ". ") + hint;
  write_warning(e.span, text);
}

void warn_always_true() { warn("a tensor of rank 1 or more is always true; use any, all or item"); }

std::string ignored_argument(const BuiltinDef& def, int index) {
  return fmt::format("{} ignores argument {}", def.name, index + 1);
}

void warn_ignored_argument(const BuiltinDef& def, int index, const Value& argument) {
  std::string text = ignored_argument(def, index);
  bool axis = def.options.find("axis") != std::string_view::npos && trace::is_numeric(argument);
  if (!axis)
    text += fmt::format("; the form is {}", def.signature);
  else
    text +=
        !argument.is_traced() ? fmt::format("; did you mean :axis {}?", short_text(argument)) : "; did you mean :axis?";
  warn(text);
}

}  // namespace sheaf::builtins
