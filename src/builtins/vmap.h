// (vmap f [axes]): a function over batches.
#pragma once
#include "builtins/builtin.h"

namespace sheaf::builtins {

Value make_vmap(Call& c);

}  // namespace sheaf::builtins
