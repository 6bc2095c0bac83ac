// The prompt. Uses the line editor on a terminal, and reads a pipe line by line.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "eval/session.h"
#include "tools/cursor_context.h"
#include "tools/line_editor.h"
#include "tools/watch.h"

namespace sheaf::tools {

// An entry that is a command of the prompt: ":show f", "?f", "??f", "!ls".
struct PromptCommand {
  std::string name;      // without the colon; "?", "??" and "!" for the others
  std::string argument;  // without surrounding spaces
  size_t name_at = 0;
  size_t argument_at = 0;
  bool has_argument = false;  // the name is complete: anything after it is the argument
};
std::optional<PromptCommand> command_of(const std::string& text);

class Repl {
 public:
  explicit Repl(const Options& options);
  // Returns the exit status: that of (exit n), else 0.
  int run();

 private:
  // repl.cpp
  int run_terminal(int out);
  int run_pipe();
  void entry(const std::string& text);
  // Runs forms like a program, in two passes; redefinition is allowed and recompiles dependent functions.
  Value evaluate(const std::vector<syntax::FormPtr>& forms);
  Value evaluate_text(const std::string& text);
  void warn_about_hiding(const std::vector<syntax::FormPtr>& forms) const;
  void remember(const Value& v);
  void remember_error(const UserError& e);
  void echo(const Value& v);
  bool guarded(const std::function<void()>& f);
  bool attempt(const std::function<void()>& f);

  // repl_commands.cpp
  void command(const PromptCommand& c);
  void apropos(const std::string& word);
  void shell(const std::string& line);
  void help(const std::string& name);
  void list_builtins();
  void env(bool variables);
  void show(const std::string& name);
  void load(const std::string& path);
  void reload();
  void time(const std::string& text);
  void type(const std::string& text);

  // repl_names.cpp
  Completions complete(const std::string& text, size_t cursor);
  std::string hint(const std::string& text, size_t cursor);
  syntax::FormPtr definition_of(const std::string& name);
  std::vector<std::string> options_of(const std::string& name, bool in_dict);
  std::vector<std::string> keywords_at(const CursorContext& at, const std::string& text, size_t cursor);
  NameKind kind_of(std::string_view name);
  std::vector<std::string> known_names();
  std::vector<eval::Cell*> cells_at_hand();

  const Options& options_;
  Watch watch_;
  eval::Session session_;
  bool terminal_ = false;
  bool quit_ = false;
  int status_ = 0;
};

// The names of the REPL commands, without the colon.
const std::vector<std::string>& command_names();
// True for the globals behind *1 *2 *3 *e.
bool is_repl_variable(const std::string& name);

}  // namespace sheaf::tools
