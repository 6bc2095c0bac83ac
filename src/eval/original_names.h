// The functions of Sheaf 2.2. A program written for it may use any other name for a field: if a with-params dict lacks
// such a field, the field is nil there, not a function added later.
#pragma once
#include <string_view>

namespace sheaf::eval {

bool is_original_name(std::string_view name);

}  // namespace sheaf::eval
