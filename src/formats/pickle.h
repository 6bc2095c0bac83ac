// Python pickles, protocols 2 to 5, as data (built-ins specification §13.3). Nothing is ever called: the few globals that
// spell arrays and dicts are recognised, every other one is nil.
#pragma once
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

Value parse_pickle(std::string_view bytes);

}  // namespace sheaf::formats
