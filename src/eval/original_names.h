// Functions of Sheaf 2.2. A program written for it may have a field of any other name: where such a field is missing
// from a with-params dict it is nil there, not a function that came later.
#pragma once
#include <string_view>

namespace sheaf::eval {

bool is_original_name(std::string_view name);

}  // namespace sheaf::eval
