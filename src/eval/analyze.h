// Forms to core code: expands macros, resolves names, rewrites the special forms.
#pragma once
#include <functional>
#include <optional>

#include "eval/globals.h"
#include "support/error.h"

namespace sheaf::eval {

// A call by name of a function that need not exist yet; whether it does is known when all texts are analysed.
struct CallSite {
  const Cell* cell = nullptr;
  Span span, head;                        // the call and the name
  std::vector<std::optional<Name>> args;  // for a check: the keyword that each is written as, if it is one
  bool in_function = false;               // not in code that runs when its text does
};

// What the analyser asks of the session it works for.
class Host {
 public:
  virtual ~Host() = default;
  virtual Globals& globals() = 0;
  // Analyses a module and returns the code that runs its definitions (nullptr: nothing to run).
  virtual ExprPtr use_module(const syntax::Form& form, uint32_t importer) = 0;
  // The global name that `name` means in a source: a module's by its alias, what defined_name gives, or a name of a
  // module that keeps its names apart.
  virtual Name resolve_alias(Name name, uint32_t source) = 0;
  // The global name that a definition of `name` in a source defines; one of the file's own if it is private, if the
  // file is used under an alias, or if a module defines that name and the file left it out with `:only`.
  virtual Name defined_name(Name name, uint32_t source) = 0;
  virtual void make_private(Name name, uint32_t source) = 0;
  // True when redefinition replaces the old definition (REPL).
  virtual bool may_redefine() const = 0;
  // Names that the text being analysed defines somewhere, also further down.
  virtual bool will_define(Name name) const = 0;
  virtual bool will_define_value(Name name) const = 0;  // by def
  // True when analysis is to go on after an error, to find them all; then every error comes to note_error.
  virtual bool finds_all_errors() const = 0;
  // An error in the body of a defn, which is none of the program until it is called.
  virtual void note_error(UserError e) = 0;
  virtual void note_call(CallSite site) = 0;
  virtual void add_test(std::string name, std::shared_ptr<Proto> body, Span span) = 0;
};

// One top-level form as a parameterless function; nullptr when there is nothing to run (defmacro).
std::shared_ptr<Proto> analyze_top_level(const syntax::FormPtr& form, Host& host, bool prelude);
// The form that a macro call at the top level comes to; any other form itself.
syntax::FormPtr expand_top_level(const syntax::FormPtr& form, Host& host);
// A prelude function, compiled into its cell.
void analyze_prelude_function(Cell& cell, const syntax::FormPtr& defn, Host& host);

// Every name that top-level forms define (also inside do), before analysis.
struct Definitions {
  std::set<Name> values, functions;  // by def; by defn and the like
  std::set<Name> own;                // of the functions those by defn-
  std::set<Name> macros;
};
void collect_definitions(const syntax::Form& form, Definitions& out);

bool is_special_form(const std::string& name);
std::vector<std::string> special_form_names();

}  // namespace sheaf::eval
