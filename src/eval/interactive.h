// Texts that are run one after another in one session, where later ones may define names again: the prompt, a notebook,
// a host program.
#pragma once
#include "eval/session.h"

namespace sheaf::eval {

// The names that forms define as they are written, macros included.
std::set<Name> defined_names(const std::vector<syntax::FormPtr>& forms);

// Runs the forms, then compiles the functions again that mention a name which means something else now. `changed` (when
// given) gets the names that were defined.
Value run_interactively(Session& session, const std::vector<syntax::FormPtr>& forms, std::set<Name>* changed = nullptr);

}  // namespace sheaf::eval
