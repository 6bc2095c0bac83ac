#include "builtins/builtin.h"

namespace sheaf::builtins {

std::span<const BuiltinDef> reduce_builtins() { return {}; }

}  // namespace sheaf::builtins
