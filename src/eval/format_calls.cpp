#include "eval/format_calls.h"

#include <fmt/format.h>

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
  for (size_t i = 1; i < args.size(); ++i)
    if (is_format(*args[i]))
      return fmt::format("{}: the format {} is argument {} and is printed as it is; a format comes first", who,
                         syntax::to_text(*args[i]), i + 1);
  return std::nullopt;
}

}  // namespace sheaf::eval
