#include "eval/format_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "syntax/printer.h"
#include "value/print.h"

namespace sheaf::eval {
namespace {

using syntax::Form;
using syntax::FormKind;
using syntax::FormPtr;

bool is_string(const Form& f) { return f.kind == FormKind::String; }
bool is_format(const Form& f) { return is_string(f) && looks_like_format(f.text); }

std::optional<std::string> surplus(const std::string& who, const std::string& format, size_t values) {
  size_t fields = count_fields(format);
  if (values <= fields) return std::nullopt;
  return fmt::format("{}: the format has {} field{} for {} values; the last {} left out", who, fields,
                     fields == 1 ? "" : "s", values, values - fields == 1 ? "is" : "are");
}

// The first "%d" or "%.2f" in a text, or "".
std::string_view printf_field(std::string_view text) {
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    size_t end = std::min(text.find_first_not_of("-+.0123456789", at + 1), text.size());
    if (end < text.size() && std::string_view("dfsegi").find(text[end]) != std::string_view::npos)
      return text.substr(at, end + 1 - at);
  }
  return "";
}

// The first "{0}" or "{name}" in a text, or "".
std::string_view named_field(std::string_view text) {
  for (size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    if (end > at + 1 && end < text.size() && text[end] == '}') return text.substr(at, end + 1 - at);
  }
  return "";
}

// For a text with fields in the style of other languages, followed by values.
std::optional<std::string> foreign_field(const std::string& who, std::string_view text) {
  if (std::string_view field = printf_field(text); !field.empty())
    return fmt::format("{}: {} is printed as it is; the fields of a format are {{}} or {{:.2f}}", who, field);
  if (std::string_view field = named_field(text); !field.empty())
    return fmt::format("{}: {} is printed as it is; the fields of a format have no names or numbers: {{}}", who, field);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_of_format(const Form& call) {
  const std::string& who = call.items[0]->name.str();
  if (who == "str-call" && call.items.size() > 2 && is_string(*call.items[1]) && call.items[1]->text == "format" &&
      is_string(*call.items[2]))
    return surplus("format", call.items[2]->text, call.items.size() - 3);
  if (who != "print" && who != "println") return std::nullopt;
  std::vector<FormPtr> args(call.items.begin() + 1, call.items.end());
  for (size_t i = 0; who == "print" && i + 1 < args.size(); ++i)
    if (args[i]->is_keyword() && args[i]->name.str() == "end") {
      args.erase(args.begin() + static_cast<ptrdiff_t>(i), args.begin() + static_cast<ptrdiff_t>(i) + 2);
      break;
    }
  if (args.size() < 2) return std::nullopt;
  if (is_format(*args[0])) return surplus(who, args[0]->text, args.size() - 1);
  if (is_string(*args[0]))
    if (auto fault = foreign_field(who, args[0]->text)) return fault;
  for (size_t i = 1; i < args.size(); ++i)
    if (is_format(*args[i]))
      return fmt::format("{}: the format {} is argument {} and is printed as it is; a format comes first", who,
                         syntax::to_text(*args[i]), i + 1);
  return std::nullopt;
}

}  // namespace sheaf::eval
