// All op entries, joined from the families by name.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace sheaf::ops {

using graph::OpDef;

// One function per family file.
std::span<const OpDef> elementwise_ops();
std::span<const OpDef> math_ops();
std::span<const OpDef> complex_ops();
std::span<const OpDef> reduce_ops();
std::span<const OpDef> movement_ops();
std::span<const OpDef> gather_ops();
std::span<const OpDef> contract_ops();
std::span<const OpDef> quantized_ops();
std::span<const OpDef> grouped_ops();
std::span<const OpDef> attention_ops();
std::span<const OpDef> ordered_ops();
std::span<const OpDef> decompose_ops();
std::span<const OpDef> fourier_ops();
std::span<const OpDef> create_ops();
std::span<const OpDef> window_ops();
std::span<const OpDef> random_ops();
std::span<const OpDef> structure_ops();
std::span<const OpDef> control_ops();
std::span<const OpDef> scan_ops();
std::span<const OpDef> while_ops();

const std::vector<const OpDef*>& all_ops();
const OpDef& op(std::string_view name);  // must exist

}  // namespace sheaf::ops
