// Macros: templates, and the compile-time evaluator that works on syntax (language specification §9).
#pragma once
#include <functional>
#include <map>

#include "syntax/form.h"

namespace sheaf::eval {

struct Macro {
  Name name;
  syntax::FormPtr params;  // a vector of names, patterns for list or vector arguments, and & rest
  syntax::FormPtr body;
  std::string doc;
};

// Reads (defmacro name "doc"? [params & rest] template).
Macro parse_macro(const syntax::Form& form);

// Finds the defining form of a `defn` that a macro may call, or nullptr.
using HelperLookup = std::function<syntax::FormPtr(Name)>;

// Expands a call form once.
syntax::FormPtr expand_macro(const Macro& macro, const syntax::Form& call, const HelperLookup& helpers);

// Expands a quasiquote outside macros: unquotes become their expressions, ~@e becomes e as one element.
syntax::FormPtr expand_quasiquote(const syntax::FormPtr& form);

}  // namespace sheaf::eval
