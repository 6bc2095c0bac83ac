// Runs texts one after another in one session, where later ones may redefine names: the prompt, a notebook, a host
// program.
#pragma once
#include "eval/session.h"

namespace sheaf::eval {

// The names that forms define in their source text, macros included.
std::set<Name> defined_names(const std::vector<syntax::FormPtr>& forms);

// Runs the forms, then recompiles the functions that mention a name whose meaning has changed. `changed` (if given)
// receives the names that were defined.
Value run_interactively(Session& session, const std::vector<syntax::FormPtr>& forms, std::set<Name>* changed = nullptr);

}  // namespace sheaf::eval
