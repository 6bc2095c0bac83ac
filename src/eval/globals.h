// The global names of a program: cells of user code and of the prelude, macros, modules. User code sees its own
// definitions first, then the prelude's, then the built-ins; prelude code never sees the user's.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "eval/core.h"
#include "eval/macro.h"
#include "syntax/reader.h"

namespace sheaf::eval {

// A name local to one file: the plain name, a character that no symbol contains, and the number of the file.
Name own_name(Name plain, uint32_t scope);
// `name` without that suffix.
Name plain_name(Name name);

class Globals {
 public:
  // The cell that code in this space refers to by `name`; created on first use, with the library's value of the plain
  // name.
  Cell* user_cell(Name name);
  Cell* prelude_cell(Name name);
  Cell* cell(Name name, bool prelude) { return prelude ? prelude_cell(name) : user_cell(name); }
  // Returns null if it does not exist yet.
  Cell* find_user(Name name);

  // The location of a prelude function, which is read and compiled (`compile_prelude`) on first use.
  struct PreludeFunction {
    uint32_t source;
    syntax::FormExtent extent;
    bool own;  // defined by defn-
    syntax::FormPtr form() const { return syntax::read_extent(source, extent); }
  };
  void add_prelude_function(Name name, const PreludeFunction& f) { prelude_functions_[name] = f; }
  const std::map<Name, PreludeFunction>& prelude_functions() const { return prelude_functions_; }
  std::function<void(Cell&, const syntax::FormPtr&)> compile_prelude;

  void define_macro(Macro m, bool prelude);
  const Macro* find_macro(Name name, bool prelude) const;
  // A user definition hides a prelude macro of the same name. The user's own macro takes precedence over a definition,
  // whichever came first, unless definitions replace each other.
  void hide_macro(Name name, bool replaces) {
    if (replaces) user_macros_.erase(name);
    hidden_macros_.insert(name);
  }

  // The definitions of the program by name; includes functions that did not compile.
  std::vector<Cell*> user_cells() const;
  const std::map<Name, Macro>& prelude_macros() const { return prelude_macros_; }
  const std::map<Name, Macro>& user_macros() const { return user_macros_; }
  // True for library names that code of this space may use; only the library itself sees its defn-.
  bool is_prelude_name(Name name, bool prelude = false) const;

 private:
  std::unordered_map<const Name::Entry*, std::unique_ptr<Cell>> user_, prelude_;
  std::map<Name, PreludeFunction> prelude_functions_;
  std::map<Name, Macro> user_macros_, prelude_macros_;
  std::set<Name> hidden_macros_;
};

}  // namespace sheaf::eval
