#include "tools/repl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "builtins/table.h"
#include "eval/interactive.h"
#include "eval/vm.h"
#include "support/interrupt.h"
#include "syntax/reader.h"
#include "tools/commands.h"
#include "tools/echo.h"
#include "tools/interrupt.h"
#include "tools/terminal.h"
#include "value/print.h"

namespace sheaf::tools {
namespace {

constexpr const char* kPrompt = "sheaf> ";
constexpr const char* kContinuation = "     > ";
constexpr const char* kResults[] = {"*1", "*2", "*3"};

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

}  // namespace

bool is_repl_variable(const std::string& name) { return name == "*1" || name == "*2" || name == "*3" || name == "*e"; }

Repl::Repl(const Options& options) : options_(options), watch_(options) {
  builtins::set_program_args(options.words);
  session_.set_interactive(true);
  for (const char* name : {"*1", "*2", "*3", "*e"}) {
    eval::Cell* c = session_.globals().user_cell(Name(name));
    c->value = Value::nil();
    c->user_defined = true;
  }
  watch_.checkpoint("after init");
}

void Repl::remember(const Value& v) {
  for (int i = 2; i > 0; --i)
    session_.globals().user_cell(Name(kResults[i]))->value = session_.globals().user_cell(Name(kResults[i - 1]))->value;
  session_.globals().user_cell(Name(kResults[0]))->value = v;
}

void Repl::remember_error(const UserError& e) {
  session_.globals().user_cell(Name("*e"))->value = eval::error_value(e);
}

void Repl::echo(const Value& v) {
  if (is_silent(v)) return;
  if (terminal_)
    if (auto tree = shape_tree_text(v)) return builtins::write_out(*tree + "\n");
  builtins::write_out(echo_text(v) + "\n");
}

void Repl::warn_about_hiding(const std::vector<syntax::FormPtr>& forms) const {
  auto& session = const_cast<eval::Session&>(session_);
  eval::Globals& g = session.globals();
  for (Name n : eval::defined_names(forms)) {
    eval::Cell* c = g.find_user(n);
    if ((c && c->user_defined) || g.user_macros().count(n) || eval::is_special_form(n.str())) continue;
    if (g.is_prelude_name(n) || g.prelude_macros().count(n))
      say(fmt::format("warning: {} hides the library's {}", n.str(), n.str()));
    else if (builtins::find_builtin(n.str()))
      say(fmt::format("warning: {} hides the built-in {}", n.str(), n.str()));
  }
}

Value Repl::evaluate(const std::vector<syntax::FormPtr>& forms) {
  warn_about_hiding(forms);
  std::set<Name> names;
  Value v = eval::run_interactively(session_, forms, &names);
  for (Name n : names)
    if (eval::Cell* c = session_.globals().find_user(n); c && c->broken)
      say(fmt::format("note: {} cannot run yet: {}", n.str(), c->broken->message));
  return v;
}

Value Repl::evaluate_text(const std::string& text) {
  return evaluate(syntax::read_all(add_source("<repl>", text, SourceKind::Repl)));
}

// Runs user code; reports any error, and the session continues. Returns false on failure.
bool Repl::guarded(const std::function<void()>& f) {
  builtins::clear_interrupts();  // requests from before had nothing to interrupt
  bool done = attempt(f);
  builtins::clear_interrupts();
  return done;
}

bool Repl::attempt(const std::function<void()>& f) {
  try {
    f();
    builtins::flush_out();
    return true;
  } catch (const builtins::ExitRequest& e) {
    quit_ = true;
    status_ = e.code;
  } catch (const UserError& e) {
    remember_error(e);
    watch_.report_exception();
  } catch (const builtins::GuardBreach& b) {
    remember_error(runtime_error(fmt::format("guard {} breached: {}", b.check, b.message)));
    watch_.report_exception();
  } catch (...) {
    watch_.report_exception();
  }
  return false;
}

void Repl::entry(const std::string& text) {
  if (is_blank(text)) return;
  if (auto c = command_of(text)) return command(*c);
  guarded([&] {
    Value v = evaluate_text(text);
    remember(v);
    echo(v);
  });
}

int Repl::run_pipe() {
  std::string text, line;
  while (!quit_ && std::getline(std::cin, line)) {
    if (line.ends_with('\r')) line.pop_back();
    text += (text.empty() ? "" : "\n") + line;
    if (!command_of(text) && syntax::completeness(text) == syntax::Completeness::Open) continue;
    entry(std::exchange(text, ""));
  }
  if (g_interrupted) return kInterruptedStatus;
  if (!quit_) {
    entry(text);
    say("Bye!");
  }
  return status_;
}

int Repl::run_terminal(int out) {
  History history(History::default_path());
  EditorHooks hooks;
  hooks.complete = [this](const std::string& text, size_t cursor) { return complete(text, cursor); };
  hooks.highlight = [this](const std::string& text, size_t cursor) {
    if (auto c = command_of(text); c && c->name == "!") return std::vector<Style>(text.size(), Style::Plain);
    return highlight(text, cursor, [this](std::string_view n) { return kind_of(n); });
  };
  hooks.is_finished = [](const std::string& text) {
    return command_of(text) || syntax::completeness(text) == syntax::Completeness::Complete;
  };
  hooks.hint = [this](const std::string& text, size_t cursor) { return hint(text, cursor); };
  LineEditor editor(STDIN_FILENO, out, history, hooks);
  const std::string prompt = fmt::format("\033[35m{}\033[0m", kPrompt),
                    continuation = fmt::format("\033[35m{}\033[0m", kContinuation);
  while (!quit_) {
    std::string text;
    switch (editor.read(prompt, continuation, static_cast<int>(std::strlen(kPrompt)), text)) {
      case LineEditor::Outcome::Interrupted: say("^C (use :quit to exit)"); continue;
      case LineEditor::Outcome::EndOfInput: say("Bye!"); return status_;
      case LineEditor::Outcome::Accepted: break;
    }
    if (!is_blank(text)) history.add(text);
    entry(text);
    builtins::flush_out();
  }
  return status_;
}

int Repl::run() {
  say(fmt::format("Sheaf {} (:h for help)", SHEAF_VERSION));
  bool capable = is_capable_terminal(STDIN_FILENO);
  int out = is_terminal(STDOUT_FILENO) ? STDOUT_FILENO : is_terminal(STDERR_FILENO) ? STDERR_FILENO : -1;
  terminal_ = is_terminal(STDOUT_FILENO);
  int status = capable && out >= 0 ? run_terminal(out) : run_pipe();
  watch_.checkpoint("after eval");
  watch_.report_profiles();
  return status;
}

int run_repl(const Options& options) { return Repl(options).run(); }

}  // namespace sheaf::tools
