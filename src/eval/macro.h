// Macros: templates, and the compile-time evaluator that works on syntax (language specification §9).
#pragma once
#include <functional>
#include <map>

#include "syntax/form.h"

namespace sheaf::eval {

struct Macro {
  Name name;
  syntax::FormPtr params;  // a vector of names, of patterns for arguments that are lists or vectors, and & rest
  syntax::FormPtr body;
  std::string doc;
};

// Reads (defmacro name "doc"? [params & rest] template).
Macro parse_macro(const syntax::Form& form);

// Finds the defining form of a `defn` that a macro may call, or nullptr.
using HelperLookup = std::function<syntax::FormPtr(Name)>;

// One expansion of a call form.
syntax::FormPtr expand_macro(const Macro& macro, const syntax::Form& call, const HelperLookup& helpers);

// A quasiquote outside macros: unquotes replaced by their expressions, ~@e by e as one element.
syntax::FormPtr expand_quasiquote(const syntax::FormPtr& form);

}  // namespace sheaf::eval
