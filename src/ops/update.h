// Writing into arrays at places that are data, in the ways that an update can meet what is there.
#pragma once
#include <string>

#include "graph/engine.h"

namespace sheaf::ops {

using graph::Operand;

// How an update meets the element that is there. Several updates of one element meet it in order.
enum class Update : uint8_t { Add, Set, Max, Min, Multiply };

// x with `updates` in the rows of axis `axis` that `index` (rank 1, i64) names. `who` and `wrap` as for take (apply.h).
Operand update_rows(Operand x, Operand index, Operand updates, int axis, Update how, std::string who, bool wrap);
// The same for single elements: the sizes of `index` and `updates` are x's except along `axis`.
Operand update_along(Operand x, Operand index, Operand updates, int axis, Update how, std::string who, bool wrap);

}  // namespace sheaf::ops
