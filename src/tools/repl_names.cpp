// What the prompt completes, colours and hints at.
#include <algorithm>
#include <filesystem>

#include "builtins/table.h"
#include "tensor/dtype.h"
#include "tools/cursor_context.h"
#include "tools/reference.h"
#include "tools/repl.h"
#include "value/dict.h"

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

std::vector<std::string> sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

bool takes_name(std::string_view command) {
  static constexpr std::string_view kNames[] = {"help", "h", "?", "??", "show", "apropos"};
  return std::find(std::begin(kNames), std::end(kNames), command) != std::end(kNames);
}

bool takes_code(std::string_view command) { return command == "time" || command == "type"; }

// The entries of a folder that continue the path between `begin` and `cursor`; folders end with a slash.
void complete_path(const std::string& text, size_t begin, size_t cursor, Completions& out) {
  namespace fs = std::filesystem;
  std::string path = text.substr(begin, cursor - begin);
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string start = slash == std::string::npos ? path : path.substr(slash + 1);
  out.begin = cursor - start.size();
  std::error_code ec;
  for (fs::directory_iterator it(folder, fs::directory_options::skip_permission_denied, ec), end; !ec && it != end;
       it.increment(ec)) {
    std::string name = it->path().filename().string();
    if (!name.starts_with(start) || (name[0] == '.' && start.empty())) continue;
    std::error_code unknown;
    out.words.push_back(it->is_directory(unknown) ? name + "/" : name);
  }
  out.words = sorted(std::move(out.words));
}

// Completes the name of a command, or its argument if that is a path.
void complete_command(const PromptCommand& c, const std::string& text, size_t cursor, Completions& out) {
  if (c.name == "!") {
    complete_path(text, text.find_last_of(" \t!", cursor - 1) + 1, cursor, out);
  } else if (cursor < c.argument_at || !c.has_argument) {
    out.begin = std::min(c.name_at, cursor);
    for (const std::string& w : command_names())
      if (w.starts_with(text.substr(out.begin, cursor - out.begin))) out.words.push_back(w);
  } else if (c.name == "load") {
    complete_path(text, c.argument_at, cursor, out);
  }
}

// The parameters that a call may name, and the options after `& {:keys […]}`.
void add_parameter_names(const syntax::Form& defn, std::vector<std::string>& out) {
  size_t at = eval::doc_of(defn).empty() ? 2 : 3;
  if (at >= defn.items.size()) return;
  bool named = true;
  for (const syntax::FormPtr& p : defn.items[at]->items) {
    if (p->is_symbol("&"))
      named = false;
    else if (p->is_symbol() && named)
      out.push_back(":" + p->name.str());
    else if (p->kind == syntax::FormKind::Dict && !named)
      for (size_t i = 0; i + 1 < p->items.size(); i += 2)
        if (p->items[i]->is_keyword() && p->items[i]->name.str() == "keys")
          for (const syntax::FormPtr& k : p->items[i + 1]->items)
            out.push_back(":" + k->name.str());
  }
}

// The keys of the dict in the body's (with-defaults "name" {…} options).
void add_default_keys(const syntax::Form& form, std::vector<std::string>& out) {
  if (form.is_call("with-defaults") && form.items.size() > 2 && form.items[2]->kind == syntax::FormKind::Dict)
    for (size_t i = 0; i < form.items[2]->items.size(); i += 2)
      if (form.items[2]->items[i]->is_keyword()) out.push_back(":" + form.items[2]->items[i]->name.str());
  for (const syntax::FormPtr& f : form.items)
    add_default_keys(*f, out);
}

// Those of BuiltinDef::options.
void add_option_words(std::string_view words, std::vector<std::string>& out) {
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (word.starts_with('*')) word.remove_prefix(1);
    if (word.ends_with('=')) word.remove_suffix(1);
    if (!word.empty()) out.push_back(":" + std::string(word));
  }
}

// The keys of a dict and of the dicts in it.
void add_keys(const Value& v, std::vector<std::string>& out) {
  if (!v.is_dict()) return;
  for (const DictEntry& e : v.as_dict().entries()) {
    out.push_back(":" + e.key.str());
    add_keys(e.value, out);
  }
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

// The form that defines a function, the user's own or the library's; nullptr for what is built in.
syntax::FormPtr Repl::definition_of(const std::string& name) {
  eval::Globals& g = session_.globals();
  Name n(name);
  if (eval::Cell* c = g.find_user(n); c && (c->user_defined || c->broken)) return c->is_function ? c->source : nullptr;
  auto f = g.prelude_functions().find(n);
  return f == g.prelude_functions().end() ? nullptr : f->second.form();
}

// The keywords that calls of a function take; `in_dict`: those of its dict of options.
std::vector<std::string> Repl::options_of(const std::string& name, bool in_dict) {
  std::vector<std::string> out;
  if (syntax::FormPtr defn = definition_of(name)) {
    if (in_dict)
      add_default_keys(*defn, out);
    else
      add_parameter_names(*defn, out);
  } else if (auto e = find_entry(session_, name); e && !in_dict) {
    for (std::string& k : atoms_of(e->signature, 0, true))
      if (std::islower(static_cast<unsigned char>(k[1]))) out.push_back(std::move(k));
    if (const auto* d = builtins::find_builtin(name)) add_option_words(d->options, out);
  }
  return sorted(std::move(out));
}

// Keywords that mean something here: options of the call, else those of the entry and of the user's data.
std::vector<std::string> Repl::keywords_at(const CursorContext& at, const std::string& text, size_t cursor) {
  std::vector<std::string> options = options_of(at.call, at.in_dict);
  std::string word = text.substr(at.word, cursor - at.word);
  if (std::any_of(options.begin(), options.end(), [&](const std::string& o) { return o.starts_with(word); }))
    return options;
  std::vector<std::string> out = atoms_of(text, cursor, true);
  for (eval::Cell* c : cells_at_hand())
    add_keys(c->value, out);
  for (int d = 0; d < kNumDTypes; ++d)
    out.push_back(":" + std::string(name_of(static_cast<DType>(d))));
  return sorted(std::move(out));
}

Completions Repl::complete(const std::string& text, size_t cursor) {
  Completions out;
  auto offer = [&](const std::vector<std::string>& words) {
    for (const std::string& w : words)
      if (text.compare(out.begin, cursor - out.begin, w, 0, cursor - out.begin) == 0) out.words.push_back(w);
  };
  std::optional<PromptCommand> command = command_of(text);
  bool in_argument = command && cursor >= command->argument_at && command->has_argument;
  if (command && !(in_argument && takes_code(command->name))) {
    out.begin = std::min(command->argument_at, cursor);
    if (in_argument && takes_name(command->name))
      offer(known_names());
    else
      complete_command(*command, text, cursor, out);
    return out;
  }
  CursorContext at = context_at(text, cursor);
  out.begin = at.word;
  if (at.place == CursorContext::Place::Comment) return out;
  if (at.place == CursorContext::Place::String) {
    complete_path(text, at.word, cursor, out);
    if (out.words.size() == 1 && !out.words[0].ends_with('/') && (cursor == text.size() || text[cursor] != '"'))
      out.words[0] += '"';
    return out;
  }
  // Nothing typed yet inside a call: its options are a better answer than every name there is.
  bool keyword = at.word < cursor ? text[at.word] == ':' : !at.at_head && !options_of(at.call, at.in_dict).empty();
  if (keyword) {
    offer(keywords_at(at, text, cursor));
    return out;
  }
  std::vector<std::string> names = known_names(), local = atoms_of(text, cursor, false);
  names.insert(names.end(), local.begin(), local.end());
  offer(sorted(std::move(names)));
  return out;
}

std::string Repl::hint(const std::string& text, size_t cursor) {
  std::optional<PromptCommand> command = command_of(text);
  if (command && !takes_code(command->name)) return "";
  CursorContext at = context_at(text, cursor);
  if (at.call.empty() || at.place == CursorContext::Place::Comment) return "";
  std::optional<DocEntry> e = find_entry(session_, at.call);
  if (!e || !e->signature.starts_with('(')) return "";
  std::string out = e->signature;
  if (at.in_dict)
    for (const std::string& option : options_of(at.call, true))
      out += " " + option;
  return out;
}

}  // namespace sheaf::tools
