// Further families of float functions, which the table adds to those of table.h.
#pragma once
#include <span>

#include "graph/op_def.h"

namespace sheaf::ops {

std::span<const graph::OpDef> bessel_ops();
std::span<const graph::OpDef> float_parts_ops();
std::span<const graph::OpDef> powers_ops();
std::span<const graph::OpDef> special_ops();

}  // namespace sheaf::ops
