// Text to forms. Throws UserError (ErrorKind::Parse) with the hints of the language specification.
#pragma once
#include <vector>

#include "syntax/form.h"

namespace sheaf::syntax {

// Reads every top-level form of a registered source.
std::vector<FormPtr> read_all(uint32_t source);

// How a prompt should treat a text typed so far: brackets still open (strings and comments respected), or complete
// (also when there are too many closers: reading it will report the error).
enum class Completeness { Complete, Open };
Completeness completeness(std::string_view text);

}  // namespace sheaf::syntax
