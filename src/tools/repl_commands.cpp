// The commands of the prompt: lines that start with a colon.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "builtins/host/output.h"
#include "builtins/table.h"
#include "syntax/printer.h"
#include "syntax/reader.h"
#include "tools/echo.h"
#include "tools/profiler.h"
#include "tools/read_file.h"
#include "tools/reference.h"
#include "tools/repl.h"
#include "tools/terminal.h"
#include "value/print.h"

namespace sheaf::tools {
namespace {

constexpr const char* kHelp = R"(Commands:
  :help, :h            this text
  :help NAME, :? NAME  what a function or form does
  :list                all built-in and library functions
  :env                 the functions, yours and the library's, and your variables
  :registry, :reg      the functions
  :show NAME           the source of a function, the value of a variable
  :load FILE           run a file
  :reload              read the loaded files again; changed definitions only, data kept
  :time EXPR           how long it takes
  :type EXPR           the type of its value
  :clear               clear the screen
  :quit, :q            leave
The last three results are *1 *2 *3, the last error is *e.
)";

std::string trimmed(std::string s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())))
    s.pop_back();
  size_t at = 0;
  while (at < s.size() && std::isspace(static_cast<unsigned char>(s[at])))
    ++at;
  return s.substr(at);
}

uint32_t add_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return add_source(path, text.str(), SourceKind::File);
}

// The docstring is `:help`'s: it is mostly examples, longer than the code.
std::string source_text(const syntax::Form& defn) {
  if (eval::doc_of(defn).empty()) return syntax::pretty(defn) + "\n";
  syntax::Form bare = defn;
  bare.items.erase(bare.items.begin() + 2);
  return syntax::pretty(bare) + "\n";
}

}  // namespace

const std::vector<std::string>& command_names() {
  static const auto* names =
      new std::vector<std::string>{"?",    "clear", "env",      "h",      "help", "list", "load", "q",
                                   "quit", "reg",   "registry", "reload", "show", "time", "type"};
  return *names;
}

void Repl::help(const std::string& name) {
  if (name.empty()) return builtins::write_out(kHelp);
  if (auto e = find_entry(session_, name))
    builtins::write_out(entry_text(*e));
  else
    say(no_entry_text(session_, name));
}

void Repl::list_builtins() {
  std::vector<DocEntry> entries = reference_entries(session_);
  std::string out = fmt::format("Sheaf built-in functions ({})\n", entries.size());
  std::string category;
  for (const DocEntry& e : entries) {
    if (e.category != category) out += fmt::format("\n{}:\n", category = e.category);
    out += "- " + e.name + "\n";
  }
  builtins::write_out(out);
}

void Repl::env(bool variables) {
  std::set<std::string> names;
  for (const auto& [name, form] : session_.globals().prelude_functions())
    if (session_.globals().is_prelude_name(name)) names.insert(name.str());
  std::string functions, values;
  for (eval::Cell* c : cells_at_hand()) {
    if (c->is_function)
      names.insert(c->name.str());
    else
      values += fmt::format("  {} = {}\n", c->name.str(), short_text(c->value));
  }
  for (const std::string& name : names)
    functions += "  " + name + "\n";
  builtins::write_out(variables ? "Functions:\n" + functions + "Variables:\n" + values : functions);
}

void Repl::show(const std::string& name) {
  eval::Globals& g = session_.globals();
  Name n(name);
  eval::Cell* c = g.find_user(n);
  if (c && (c->user_defined || c->broken)) {
    if (c->is_function && c->source)
      builtins::write_out(source_text(*c->source));
    else
      builtins::write_out(render(c->value) + "\n");
  } else if (auto f = g.prelude_functions().find(n); f != g.prelude_functions().end()) {
    builtins::write_out(source_text(*f->second.form()));
  } else if (const auto* d = builtins::find_builtin(name)) {
    builtins::write_out(fmt::format("{} is built in: {}\n", name, d->signature));
  } else if (const eval::Macro* m = g.find_macro(n, false)) {
    builtins::write_out(fmt::format("macro {}:\n{}\n", name, syntax::pretty(*m->body)));
  } else {
    say("Unknown symbol: " + name);
  }
}

void Repl::load(const std::string& path) {
  if (path.empty()) return say("Usage: :load FILE");
  if (!check_readable(path)) return;
  guarded([&] {
    Value v = session_.run_file(path);
    remember(v);
    echo(v);
  });
}

void Repl::reload() {
  std::set<std::string> files = session_.loaded_files();
  if (files.empty()) return say("Nothing is loaded; use :load FILE.");
  guarded([&] {
    int changed = 0;
    for (const std::string& path : files) {
      if (why_unreadable(path)) {
        say(fmt::format("sheaf: cannot read '{}': {}", path, *why_unreadable(path)));
        continue;
      }
      std::vector<syntax::FormPtr> forms;
      for (const syntax::FormPtr& f : syntax::read_all(add_file(path))) {
        if (f->is_call("defmacro")) forms.push_back(f);
        if (!f->is_call("def") && !f->is_call("defn") && !f->is_call("defn-")) continue;
        if (f->items.size() < 2 || !f->items[1]->is_symbol()) continue;
        eval::Cell* c = session_.globals().find_user(session_.defined_name(f->items[1]->name, f->span.source));
        bool same = c && c->source && !c->broken && syntax::equal(*c->source, *f);
        if (same) continue;
        ++changed;
        forms.push_back(f);
      }
      evaluate(forms);
    }
    say(fmt::format("{} definition{} changed", changed, changed == 1 ? "" : "s"));
  });
}

void Repl::time(const std::string& text) {
  guarded([&] {
    auto start = std::chrono::steady_clock::now();
    Value v = evaluate_text(text);
    auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
    remember(v);
    echo(v);
    builtins::write_out(duration_text(ns) + "\n");
  });
}

void Repl::type(const std::string& text) {
  guarded([&] {
    Value v = evaluate_text(text);
    remember(v);
    builtins::write_out(type_text(v) + "\n");
  });
}

void Repl::command(const std::string& text) {
  std::string line = trimmed(text);
  size_t space = std::min(line.find_first_of(" \t\n"), line.size());
  std::string name = line.substr(1, space - 1), rest = trimmed(line.substr(space));
  if (name == "help" || name == "h" || name == "?")
    help(rest);
  else if (name == "list")
    list_builtins();
  else if (name == "env")
    env(true);
  else if (name == "registry" || name == "reg")
    env(false);
  else if (name == "show")
    rest.empty() ? say("Usage: :show NAME") : show(rest);
  else if (name == "load")
    load(rest);
  else if (name == "reload")
    reload();
  else if (name == "time")
    rest.empty() ? say("Usage: :time EXPR") : time(rest);
  else if (name == "type")
    rest.empty() ? say("Usage: :type EXPR") : type(rest);
  else if (name == "clear")
    builtins::write_out("\033[H\033[2J");
  else if (name == "quit" || name == "q")
    quit_ = true;
  else
    say(fmt::format("Unknown command: :{}", name));
  builtins::flush_out();
}

}  // namespace sheaf::tools
