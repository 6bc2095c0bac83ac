// The commands of the prompt: lines that start with a colon, a question mark or an exclamation mark.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "builtins/host/output.h"
#include "builtins/table.h"
#include "syntax/printer.h"
#include "syntax/reader.h"
#include "tools/echo.h"
#include "tools/pager.h"
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
  :help NAME, ?NAME    what a function or form does
  :list                all built-in and library functions
  :env                 the functions, yours and the library's, and your variables
  :registry, :reg      the functions
  :apropos WORD        the functions whose name or description has the word
  :show NAME, ??NAME   the source of a function, the value of a variable
  :load FILE           run a file
  :reload              read the loaded files again; changed definitions only, data kept
  :time EXPR           how long it takes
  :type EXPR           the type of its value
  !COMMAND             run a command of the shell
  :clear               clear the screen
  :quit, :q            leave
The last three results are *1 *2 *3, the last error is *e.
Tab completes names, options (:axis), and paths inside strings; twice, it lists what is possible.
)";

std::string trimmed(std::string s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())))
    s.pop_back();
  size_t at = 0;
  while (at < s.size() && std::isspace(static_cast<unsigned char>(s[at])))
    ++at;
  return s.substr(at);
}

bool contains_word(const std::string& text, const std::string& word) {
  auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

std::string first_sentence(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

uint32_t add_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return add_source(path, text.str(), SourceKind::File);
}

// Omits the doc string, which `:help` shows: it is mostly examples, longer than the code.
std::string source_text(const syntax::Form& defn) {
  if (eval::doc_of(defn).empty()) return syntax::pretty(defn) + "\n";
  syntax::Form bare = defn;
  bare.items.erase(bare.items.begin() + 2);
  return syntax::pretty(bare) + "\n";
}

}  // namespace

const std::vector<std::string>& command_names() {
  static const auto* names =
      new std::vector<std::string>{"?", "apropos", "clear", "env",      "h",      "help", "list", "load",
                                   "q", "quit",    "reg",   "registry", "reload", "show", "time", "type"};
  return *names;
}

void Repl::help(const std::string& name) {
  if (name.empty()) return show_paged(kHelp);
  if (auto e = find_entry(session_, name))
    show_paged(entry_text(*e));
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
  show_paged(out);
}

// Names that contain the word come before entries that mention it.
void Repl::apropos(const std::string& word) {
  std::vector<DocEntry> entries = reference_entries(session_);
  for (eval::Cell* c : cells_at_hand())
    if (auto e = find_entry(session_, c->name.str())) entries.push_back(std::move(*e));
  std::string named, mentioned;
  for (const DocEntry& e : entries) {
    bool name = contains_word(e.name, word);
    if (!name && !contains_word(e.signature, word) && !contains_word(e.text, word)) continue;
    std::string line = fmt::format("  {:<20} {}", e.name, first_sentence(e.text));
    (name ? named : mentioned) += (terminal_ ? cut_to(std::move(line), terminal_width() - 1) : line) + "\n";
  }
  if (named.empty() && mentioned.empty()) return say(fmt::format("Nothing about '{}'.", word));
  show_paged(named + mentioned);
}

void Repl::shell(const std::string& line) {
  builtins::flush_out();
  // On a pipe the prompt's commands come from standard input, which a program must not read.
  bool own_input = is_terminal(STDIN_FILENO);
  // NOLINTNEXTLINE(bugprone-command-processor): the user's own line for the shell
  int status = std::system((own_input ? line : "{ " + line + "\n} </dev/null").c_str());
  if (WIFSIGNALED(status))
    say(fmt::format("ended by signal {}", WTERMSIG(status)));
  else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    say(fmt::format("exit status {}", WEXITSTATUS(status)));
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
  show_paged(variables ? "Functions:\n" + functions + "Variables:\n" + values : functions);
}

void Repl::show(const std::string& name) {
  eval::Globals& g = session_.globals();
  Name n(name);
  if (syntax::FormPtr defn = definition_of(name))
    show_paged(source_text(*defn));
  else if (eval::Cell* c = g.find_user(n); c && (c->user_defined || c->broken))
    show_paged(render(c->value) + "\n");
  else if (const auto* d = builtins::find_builtin(name))
    builtins::write_out(fmt::format("{} is built in: {}\n", name, d->signature));
  else if (const eval::Macro* m = g.find_macro(n, false))
    show_paged(fmt::format("macro {}:\n{}\n", name, syntax::pretty(*m->body)));
  else if (auto e = find_entry(session_, name))
    builtins::write_out(fmt::format("{} is a {}: {}\n", name, e->type, e->signature));
  else
    say("Unknown symbol: " + name);
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

std::optional<PromptCommand> command_of(const std::string& text) {
  PromptCommand c;
  c.name_at = text.find_first_not_of(" \t");
  if (c.name_at == std::string::npos) return std::nullopt;
  auto starts = [&](std::string_view s) { return text.compare(c.name_at, s.size(), s) == 0; };
  size_t end;  // of the name
  if (starts(":")) {
    end = std::min(text.find_first_of(" \t\n", ++c.name_at), text.size());
    c.has_argument = end < text.size();
  } else if (starts("?") || (starts("!") && !starts("!="))) {  // != is a function
    end = c.name_at + (starts("??") ? 2 : 1);
    c.has_argument = true;
  } else {
    return std::nullopt;
  }
  c.name = text.substr(c.name_at, end - c.name_at);
  c.argument_at = std::min(text.find_first_not_of(" \t\n", end), text.size());
  c.argument = trimmed(text.substr(end));
  return c;
}

void Repl::command(const PromptCommand& c) {
  const std::string& name = c.name;
  const std::string& rest = c.argument;
  if (name == "help" || name == "h" || name == "?")
    help(rest);
  else if (name == "apropos")
    rest.empty() ? say("Usage: :apropos WORD") : apropos(rest);
  else if (name == "list")
    list_builtins();
  else if (name == "env")
    env(true);
  else if (name == "registry" || name == "reg")
    env(false);
  else if (name == "show" || name == "??")
    rest.empty() ? say(name == "show" ? "Usage: :show NAME" : "Usage: ??NAME") : show(rest);
  else if (name == "!")
    rest.empty() ? say("Usage: !COMMAND") : shell(rest);
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
