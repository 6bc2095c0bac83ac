#include "builtins/builtin.h"

namespace sheaf::builtins {

std::span<const BuiltinDef> index_builtins() { return {}; }

}  // namespace sheaf::builtins
