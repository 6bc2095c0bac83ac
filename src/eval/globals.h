// The global names of a program: cells of the user's code and of the prelude, macros, modules. User code sees its own
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

// A name that belongs to one file: the plain name, a character that no symbol contains, and which file.
Name own_name(Name plain, uint32_t scope);
// `name` without that.
Name plain_name(Name name);

class Globals {
 public:
  // The cell that code in this space refers to under `name`; created on first use, with the value that the library
  // gives to the plain name.
  Cell* user_cell(Name name);
  Cell* prelude_cell(Name name);
  Cell* cell(Name name, bool prelude) { return prelude ? prelude_cell(name) : user_cell(name); }
  // Only if it already exists.
  Cell* find_user(Name name);

  // Where a function of the prelude stands; it is read and compiled (`compile_prelude`) when first asked for.
  struct PreludeFunction {
    uint32_t source;
    syntax::FormExtent extent;
    bool own;  // a defn-
    syntax::FormPtr form() const { return syntax::read_extent(source, extent); }
  };
  void add_prelude_function(Name name, const PreludeFunction& f) { prelude_functions_[name] = f; }
  const std::map<Name, PreludeFunction>& prelude_functions() const { return prelude_functions_; }
  std::function<void(Cell&, const syntax::FormPtr&)> compile_prelude;

  void define_macro(Macro m, bool prelude);
  const Macro* find_macro(Name name, bool prelude) const;
  // A user definition hides a prelude macro of the same name. A macro of the user's own stays the meaning of a call,
  // whichever came first, unless definitions replace each other.
  void hide_macro(Name name, bool replaces) {
    if (replaces) user_macros_.erase(name);
    hidden_macros_.insert(name);
  }

  // What the program defined, by name; also functions that did not compile.
  std::vector<Cell*> user_cells() const;
  const std::map<Name, Macro>& prelude_macros() const { return prelude_macros_; }
  const std::map<Name, Macro>& user_macros() const { return user_macros_; }
  // What code of this space may name; the library's defn- are its own.
  bool is_prelude_name(Name name, bool prelude = false) const;

 private:
  std::unordered_map<const Name::Entry*, std::unique_ptr<Cell>> user_, prelude_;
  std::map<Name, PreludeFunction> prelude_functions_;
  std::map<Name, Macro> user_macros_, prelude_macros_;
  std::set<Name> hidden_macros_;
};

}  // namespace sheaf::eval
