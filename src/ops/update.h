// Scatter: writes to arrays at positions that are data, with several ways to combine old and new elements.
#pragma once
#include <string>

#include "graph/engine.h"

namespace sheaf::ops {

using graph::Operand;

// How an update combines with the existing element. Several updates of one element apply in order.
enum class Update : uint8_t { Add, Set, Max, Min, Multiply };

// x with `updates` applied to the rows of axis `axis` given by `index` (rank 1, i64). `who` and `wrap` as in take
// (apply.h).
Operand update_rows(Operand x, Operand index, Operand updates, int axis, Update how, std::string who, bool wrap);
// The same for single elements: the sizes of `index` and `updates` are x's except along `axis`.
Operand update_along(Operand x, Operand index, Operand updates, int axis, Update how, std::string who, bool wrap);

}  // namespace sheaf::ops
