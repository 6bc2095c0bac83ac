// A running Sheaf: the prelude, the user's definitions, modules, tests. A text is analysed as a whole, then run.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "eval/analyze.h"
#include "support/error.h"

namespace sheaf::eval {

struct TestCase {
  std::string name;
  std::shared_ptr<Proto> body;
  Span span;
};

class Session final : public Host {
 public:
  Session();
  ~Session() override;

  // Analyses the whole text, then runs its forms; returns the last value. Throws UserError with position and stack.
  Value run(uint32_t source);
  // The same for a file; throws UserError (io) if it cannot be read.
  Value run_file(const std::string& path);
  Value run_text(const std::string& text, const std::string& name = "<eval>", SourceKind kind = SourceKind::Eval);
  // The same for forms that have been read already.
  Value run_forms(const std::vector<syntax::FormPtr>& forms);
  // Calls a function value from outside; errors are reported like those of a run.
  Value call(const Value& function, std::vector<Value> args);
  // Analyses without running: the protos in order.
  std::vector<std::shared_ptr<Proto>> analyze(const std::vector<syntax::FormPtr>& forms);

  // Called when a whole text has been analysed, before it runs: all its definitions are known then.
  std::function<void()> on_analyzed;

  // Reads and analyses a text without running it. Returns all errors in text order.
  std::vector<UserError> check(uint32_t source);
  std::vector<UserError> check_file(const std::string& path);

  // The REPL lets a definition replace an earlier one.
  void set_interactive(bool on) { interactive_ = on; }
  // Canonical paths of the files run or used so far.
  const std::set<std::string>& loaded_files() const { return loaded_; }
  const std::vector<TestCase>& tests() const { return tests_; }
  Value run_test(const TestCase& t);

  Globals& globals() override { return globals_; }
  ExprPtr use_module(const syntax::Form& form, uint32_t importer) override;
  Name resolve_alias(Name name, uint32_t source) override;
  Name defined_name(Name name, uint32_t source) override;
  void make_private(Name name, uint32_t source) override;
  bool may_redefine() const override { return interactive_; }
  bool will_define(Name name) const override {
    return will_define_value(name) || pending_.functions.count(plain_name(name));
  }
  bool will_define_value(Name name) const override { return pending_.values.count(plain_name(name)) > 0; }
  bool finds_all_errors() const override { return checking_; }
  void note_error(UserError e) override { noted_.push_back(std::move(e)); }
  void note_call(CallSite site) override;
  void add_test(std::string name, std::shared_ptr<Proto> body, Span span) override {
    tests_.push_back({std::move(name), std::move(body), span});
  }

 private:
  void load_prelude();
  // The definitions of a module and of those it uses: plain name to global name.
  using Exports = std::map<Name, Name>;
  // The names of one scope: a file, or everything typed at the prompt.
  struct Scope {
    bool separate = false;                       // loaded by a `use` with `:as`: all its definitions are private to it
    std::map<std::string, std::string> aliases;  // given by `:as`: the module's path, or "" for the library
    std::set<Name> defines;                      // by the texts read so far
    std::set<Name> privates;                     // defined by defn-
    Exports imported;                            // defined by the modules it uses
    std::set<Name> wanted;                       // of these, those named by a `use`, or all if it has no `:only`
    std::set<Name> left_out;                     // the other imported names
    Exports asked_for,
        at_hand;  // names of separate modules: wanted ones, and those of a `use` with `:as` (empty name if two have it)
  };
  // Each line typed at the prompt, and each reading of a file, is a separate source; this maps them to their scope.
  uint32_t scope_of(uint32_t source);
  Scope& scope(uint32_t source) { return scopes_[scope_of(source)]; }
  bool is_library_name(Name name) const;
  // Records the names that the forms, and the modules they use, define, before any of them is analysed.
  void announce(const std::vector<syntax::FormPtr>& forms);
  void announce_modules(const syntax::Form& form, uint32_t importer);
  void import(const syntax::Form& use, const std::string& path, uint32_t importer);
  void analyze_module_form(const syntax::FormPtr& form, std::vector<std::shared_ptr<Proto>>& run, Exports& names);
  std::vector<std::filesystem::path> load_path(uint32_t importer) const;
  // Where (use NAME) looks: the directories, and the file found there (empty: none).
  struct ModulePlace {
    std::vector<std::filesystem::path> searched;
    std::filesystem::path file;
  };
  ModulePlace find_module(const std::string& name, uint32_t importer) const;
  // A module's source and its forms.
  struct ModuleText {
    uint32_t source = 0;
    std::vector<syntax::FormPtr> forms;
  };
  ModuleText module_text(const std::filesystem::path& file);
  // Registers a program's text; throws UserError (io) if it cannot be read.
  uint32_t add_program(const std::string& path);
  template <class F>
  Value guarded(F&& f);
  // True for a library file read as a program: its functions may call those that only the library sees.
  static bool is_library_file(uint32_t source);
  // The errors that analysis found in functions, and calls of names that are defined nowhere.
  std::vector<UserError> findings() const;
  void warn_of_findings();

  Globals globals_;
  bool interactive_ = false;
  Definitions pending_;  // names that the texts under analysis define
  std::map<std::string, ModuleText>
      read_ahead_;                // modules read for their definitions and not analysed yet, by canonical path
  std::set<std::string> loaded_;  // canonical paths of modules
  std::map<std::string, Exports> module_names_;   // of each loaded module, by path
  std::map<std::string, uint32_t> first_source_;  // of each file, by path
  std::map<uint32_t, uint32_t> file_scopes_;      // the same by source
  std::map<uint32_t, Scope> scopes_;
  std::vector<TestCase> tests_;
  // State of the current analysis.
  bool checking_ = false;
  bool code_ran_before_ = false;  // code before the current form has side effects or may fail when it runs
  std::vector<UserError> noted_;
  std::vector<CallSite> calls_;
};

// The doc string of a defn form, or "".
std::string doc_of(const syntax::Form& defn);

}  // namespace sheaf::eval
