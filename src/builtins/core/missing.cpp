#include "builtins/core/missing.h"

#include <fmt/format.h>

#include "support/form_text.h"
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
  return at != std::string::npos &&
         (at + 3 == message.size() || !std::isalnum(static_cast<unsigned char>(message[at + 3])));
}

// The text of the dict in the first (get DICT :key …) or (:key DICT) within a form, or "".
std::string dict_of_access(std::string_view form, std::string_view key) {
  std::string call = fmt::format("(:{} ", key);
  if (size_t at = form.find(call); at != std::string_view::npos)
    if (std::vector<std::string_view> parts = form_parts(form.substr(at)); parts.size() > 1)
      return short_form(parts[1]);
  for (size_t at = form.find("(get"); at != std::string_view::npos; at = form.find("(get", at + 1)) {
    std::vector<std::string_view> parts = form_parts(form.substr(at));
    if (parts.size() < 3) continue;
    bool names_key = parts[2].starts_with(':') && parts[2].substr(1) == key;
    if (names_key || parts[0] == "get-in") return short_form(parts[1]);
  }
  return "";
}

}  // namespace

std::string key_list(const DictObj& dict) {
  std::string keys;
  size_t shown = 0;
  for (const DictEntry& e : dict.entries()) {
    if (++shown > 8) return keys + " …";
    keys += (keys.empty() ? ":" : " :") + e.key.str();
  }
  return keys.empty() ? "no keys" : keys;
}

void remember_missing_key(Name key, const DictObj& dict, Span span) {
  last_miss() = Miss{key, key_list(dict), span ? span : trace::current_span()};
}

std::optional<std::string> explain_nil(const std::string& message) {
  if (!last_miss() || !speaks_of_nil(message)) return std::nullopt;
  const Miss& m = *last_miss();
  std::string dict = dict_of_access(text_of(m.span), m.key.str());
  std::string text = fmt::format("no key :{}{} (has {})", m.key.str(), dict.empty() ? "" : " in " + dict, m.has);
  return m.span ? text + ", at " + place(m.span) : text;
}

}  // namespace sheaf::builtins
