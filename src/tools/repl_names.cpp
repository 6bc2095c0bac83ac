// The names the prompt completes and colours.
#include <algorithm>

#include "builtins/table.h"
#include "syntax/lexer.h"
#include "tools/reference.h"
#include "tools/repl.h"

namespace sheaf::tools {
namespace {

// Internal built-ins, names that macros made up, the REPL's own variables.
bool is_hidden(const std::string& name) {
  return name.starts_with("@-") || (name.starts_with('%') && name.size() > 1) || name.find('#') != std::string::npos ||
         is_repl_variable(name);
}

bool is_special(std::string_view name) {
  static const auto* names = [] {
    auto* s = new std::set<std::string, std::less<>>;
    for (const DocEntry& e : special_form_docs())
      s->insert(e.name);
    for (const std::string& n : eval::special_form_names())
      s->insert(n);
    s->insert("catch");
    return s;
  }();
  return names->contains(name);
}

}  // namespace

// What programs have defined and the prompt can name: not what is private to a module.
std::vector<eval::Cell*> Repl::cells_at_hand() {
  eval::Globals& g = session_.globals();
  std::vector<eval::Cell*> out;
  for (eval::Cell* c : g.user_cells())
    if (!is_hidden(c->name.str()) && g.find_user(session_.resolve_alias(c->name, 0)) == c) out.push_back(c);
  return out;
}

std::vector<std::string> Repl::known_names() {
  std::set<std::string> all;
  for (const DocEntry& e : special_form_docs())
    all.insert(e.name);
  for (const std::string& n : eval::special_form_names())
    all.insert(n);
  eval::Globals& g = session_.globals();
  for (const auto* d : builtins::all_builtins())
    all.insert(std::string(d->name));
  for (const auto& [n, f] : g.prelude_functions())
    if (g.is_prelude_name(n)) all.insert(n.str());
  for (const auto& [n, m] : g.prelude_macros())
    all.insert(n.str());
  for (const auto& [n, m] : g.user_macros())
    all.insert(n.str());
  for (eval::Cell* c : cells_at_hand())
    all.insert(c->name.str());
  std::vector<std::string> out;
  for (const std::string& n : all)
    if (!is_hidden(n)) out.push_back(n);
  return out;
}

NameKind Repl::kind_of(std::string_view name) {
  eval::Globals& g = session_.globals();
  Name n(name);
  if (is_special(name) || g.find_macro(n, false)) return NameKind::Special;
  eval::Cell* c = g.find_user(n);
  bool function = (c && c->user_defined && c->is_function) || g.is_prelude_name(n) || builtins::find_builtin(name);
  return function ? NameKind::Function : NameKind::Unknown;
}

Completions Repl::complete(const std::string& text, size_t cursor) {
  // The word before the cursor: back to whatever cannot be part of a symbol.
  size_t begin = cursor;
  while (begin > 0 && syntax::space_length(text, begin - 1) == 0 &&
         std::string_view("()[]{}\"'`~;").find(text[begin - 1]) == std::string_view::npos)
    --begin;
  std::string word = text.substr(begin, cursor - begin);
  Completions out;
  out.begin = begin;
  if (text.starts_with(':') && begin == 0) {
    out.begin = 1;
    word = word.empty() ? "" : word.substr(1);
    for (const std::string& c : command_names())
      if (c.starts_with(word)) out.words.push_back(c);
    return out;
  }
  for (std::string& n : known_names())
    if (n.starts_with(word)) out.words.push_back(std::move(n));
  return out;
}

}  // namespace sheaf::tools
