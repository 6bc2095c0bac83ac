#include "eval/argument_notes.h"

#include <algorithm>
#include <cctype>

#include "support/form_text.h"
#include "value/print.h"

namespace sheaf::eval {
namespace {

constexpr size_t kMaxText = 32;

// Literals need no note: numbers, strings, keywords, vectors, quoted data, functions.
bool is_literal(std::string_view form) {
  char c = form[0];
  bool signed_number =
      (c == '-' || c == '+' || c == '.') && form.size() > 1 && std::isdigit(static_cast<unsigned char>(form[1]));
  return std::isdigit(static_cast<unsigned char>(c)) || signed_number || c == '"' || c == ':' || c == '[' ||
         c == '\'' || c == '#' || c == '{' || form.starts_with("(fn ") || form == "true" || form == "false" ||
         form == "nil" || form == "nan" || form == "inf" || form == "-inf" || form == "...";
}

std::string argument_text(const Value& v) {
  std::string s = v.is_float() ? brief_number(v.as_float()) : short_text(v);
  return s.size() > kMaxText ? s.substr(0, kMaxText) + "…" : s;
}

// A nil may also be a register whose value was moved into the call. It is certain only if the message mentions nil and
// there is a single nil.
bool shows_nil(const UserError& e, std::span<const Value> arguments) {
  size_t nils = 0;
  for (const Value& v : arguments)
    nils += v.is_nil();
  return nils == 1 && e.message.find("nil") != std::string::npos;
}

}  // namespace

void note_arguments(UserError& e, std::string_view function, Span call, std::span<const Value> arguments) {
  std::vector<std::string_view> parts = form_parts(text_of(call));
  // The arguments of a threaded or generated call differ from its text.
  bool written = parts.size() > arguments.size() && parts[0] == function;
  bool nil = shows_nil(e, arguments);
  std::string note;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (written && parts[i + 1][0] == ':') break;  // options were removed: later arguments no longer correspond
    const Value& v = arguments[i];
    if (written && std::find(parts.begin() + 1, parts.begin() + 1 + static_cast<ptrdiff_t>(i), parts[i + 1]) !=
                       parts.begin() + 1 + static_cast<ptrdiff_t>(i))
      continue;  // already mentioned
    if (v.is_callable() || v.tag() == Tag::Unbound || (v.is_nil() && !nil) || (written && is_literal(parts[i + 1])))
      continue;
    std::string what = argument_text(v);
    if (written)
      note += (note.empty() ? "where " : ", ") + short_form(parts[i + 1]) + " is " + what;
    else
      note += (note.empty() ? std::string(function) + " is given " : ", ") + what;
  }
  if (!note.empty()) e.notes.push_back(std::move(note));
}

}  // namespace sheaf::eval
