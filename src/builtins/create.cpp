#include "builtins/builtin.h"

namespace sheaf::builtins {

std::span<const BuiltinDef> create_builtins() { return {}; }

}  // namespace sheaf::builtins
