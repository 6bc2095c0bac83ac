// General advice by the wording of a message, for errors whose thrower had nothing more specific to say.
#pragma once
#include <string>
#include <string_view>

namespace sheaf {

// A hint for `message`, or "" when none applies.
std::string generic_hint(std::string_view message);

}  // namespace sheaf
