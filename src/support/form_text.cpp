#include "support/form_text.h"

#include <cctype>

namespace sheaf {
namespace {

constexpr size_t kShortForm = 40;

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) || c == ','; }
bool is_opener(char c) { return c == '(' || c == '[' || c == '{'; }
bool is_closer(char c) { return c == ')' || c == ']' || c == '}'; }
bool is_prefix(char c) { return c == '\'' || c == '`' || c == '~' || c == '#'; }

bool is_string(std::string_view s, size_t at) { return s[at] == '"' || s.substr(at).starts_with("#r\""); }

// A raw string, #r"…", ends at the first quote; in other strings a backslash escapes one.
size_t end_of_string(std::string_view s, size_t at) {
  if (s[at] == '#') return std::min(std::min(s.find('"', at + 3), s.size()) + 1, s.size());
  for (++at; at < s.size() && s[at] != '"'; ++at)
    if (s[at] == '\\') ++at;
  return std::min(at + 1, s.size());
}

size_t end_of_line(std::string_view s, size_t at) { return std::min(s.find('\n', at), s.size()); }

// The position after the form that starts at `at`.
size_t end_of_form(std::string_view s, size_t at) {
  while (at < s.size() && is_prefix(s[at]) && !is_string(s, at))
    ++at;
  if (at < s.size() && is_string(s, at)) return end_of_string(s, at);
  if (at < s.size() && is_opener(s[at])) {
    for (int depth = 0; at < s.size();) {
      char c = s[at];
      if (is_string(s, at)) {
        at = end_of_string(s, at);
        continue;
      }
      if (c == ';') {
        at = end_of_line(s, at);
        continue;
      }
      ++at;
      if (is_opener(c)) ++depth;
      if (is_closer(c) && --depth == 0) break;
    }
    return at;
  }
  while (at < s.size() && !is_blank(s[at]) && !is_opener(s[at]) && !is_closer(s[at]) && s[at] != ';' && s[at] != '"')
    ++at;
  return at;
}

}  // namespace

std::vector<std::string_view> form_parts(std::string_view form) {
  std::vector<std::string_view> parts;
  if (form.size() < 2 || form[0] != '(') return parts;
  for (size_t at = 1; at < form.size() && form[at] != ')';) {
    if (is_blank(form[at])) {
      ++at;
    } else if (form[at] == ';') {
      at = end_of_line(form, at);
    } else {
      size_t end = std::max(end_of_form(form, at), at + 1);
      parts.push_back(form.substr(at, end - at));
      at = end;
    }
  }
  return parts;
}

std::string short_form(std::string_view form) {
  if (form.size() <= kShortForm && form.find('\n') == std::string_view::npos) return std::string(form);
  if (form[0] != '(') return std::string(form.substr(0, 1)) + "…";
  size_t end = end_of_form(form, 1);
  if (end > kShortForm || end == 1) return "(…)";
  return std::string(form.substr(0, end)) + " …)";
}

}  // namespace sheaf
