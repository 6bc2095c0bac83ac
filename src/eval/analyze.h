// Compiles forms to core code: expands macros, resolves names, rewrites the special forms.
#pragma once
#include <functional>
#include <optional>

#include "eval/globals.h"
#include "support/error.h"

namespace sheaf::eval {

// A call by name of a function that may be defined later; resolved when all texts are analysed.
struct CallSite {
  const Cell* cell = nullptr;
  Span span, head;                        // the call and the name
  std::vector<std::optional<Name>> args;  // for a check: by argument, the keyword, if it is written as one
  bool in_function = false;               // false: runs when the text itself runs
};

// The analyser's interface to its session.
class Host {
 public:
  virtual ~Host() = default;
  virtual Globals& globals() = 0;
  // Analyses a module. Returns the code that runs its definitions (nullptr: nothing to run).
  virtual ExprPtr use_module(const syntax::Form& form, uint32_t importer) = 0;
  // The global name that `name` refers to in a source: one of a module through its alias, the result of defined_name,
  // or a name of a module that keeps its names separate.
  virtual Name resolve_alias(Name name, uint32_t source) = 0;
  // The global name that a definition of `name` in a source defines: one private to the file if it is a defn-, if the
  // file is used under an alias, or if a module defines that name and the file excluded it with `:only`.
  virtual Name defined_name(Name name, uint32_t source) = 0;
  virtual void make_private(Name name, uint32_t source) = 0;
  // True if a redefinition replaces the old definition (REPL).
  virtual bool may_redefine() const = 0;
  // True for names that the current text defines anywhere, also further down.
  virtual bool will_define(Name name) const = 0;
  virtual bool will_define_value(Name name) const = 0;  // by def
  // True if analysis continues after an error, to find them all; every error then goes to note_error.
  virtual bool finds_all_errors() const = 0;
  // Records an error in the body of a defn, which affects the program only when the function is called.
  virtual void note_error(UserError e) = 0;
  virtual void note_call(CallSite site) = 0;
  virtual void add_test(std::string name, std::shared_ptr<Proto> body, Span span) = 0;
};

// Compiles one top-level form to a parameterless function; nullptr if there is nothing to run (defmacro).
std::shared_ptr<Proto> analyze_top_level(const syntax::FormPtr& form, Host& host, bool prelude);
// Expands a top-level macro call; returns any other form unchanged.
syntax::FormPtr expand_top_level(const syntax::FormPtr& form, Host& host);
// Compiles a prelude function into its cell.
void analyze_prelude_function(Cell& cell, const syntax::FormPtr& defn, Host& host);

// Every name that top-level forms define (also inside do), collected before analysis.
struct Definitions {
  std::set<Name> values, functions;  // by def; by defn and the like
  std::set<Name> own;                // the functions defined by defn-
  std::set<Name> macros;
};
void collect_definitions(const syntax::Form& form, Definitions& out);

bool is_special_form(const std::string& name);
std::vector<std::string> special_form_names();

}  // namespace sheaf::eval
