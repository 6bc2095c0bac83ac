#include "builtins/missing.h"

#include <fmt/format.h>

#include "trace/traced.h"

namespace sheaf::builtins {
namespace {

struct Miss {
  Name key;
  std::string has;
  Span span;
};

std::optional<Miss>& last_miss() {
  thread_local std::optional<Miss> m;
  return m;
}

bool speaks_of_nil(const std::string& message) {
  size_t at = message.find("nil");
  return at != std::string::npos && (at + 3 == message.size() || !std::isalnum(static_cast<unsigned char>(message[at + 3])));
}

}  // namespace

void remember_missing_key(Name key, const DictObj& dict, Span span) {
  std::string has;
  size_t shown = 0;
  for (const DictEntry& e : dict.entries()) {
    if (++shown > 8) {
      has += " …";
      break;
    }
    has += (has.empty() ? ":" : " :") + e.key.str();
  }
  last_miss() = Miss{key, std::move(has), span ? span : trace::current_span()};
}

std::optional<std::string> explain_nil(const std::string& message) {
  if (!last_miss() || !speaks_of_nil(message)) return std::nullopt;
  const Miss& m = *last_miss();
  std::string form(text_of(m.span));
  if (form.size() > 40 || form.find('\n') != std::string::npos) form.clear();
  std::string text = fmt::format("no key :{}{} ({})", m.key.str(), form.empty() ? "" : " in " + form, m.has.empty() ? "the dict is empty" : "has " + m.has);
  return m.span ? text + ", at " + place(m.span) : text;
}

}  // namespace sheaf::builtins
