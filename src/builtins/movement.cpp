#include "builtins/builtin.h"

namespace sheaf::builtins {

std::span<const BuiltinDef> movement_builtins() { return {}; }

}  // namespace sheaf::builtins
