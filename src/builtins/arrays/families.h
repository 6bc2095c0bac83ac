// Functions of arrays and of functions over them, one family per file. Read by builtins/table.cpp.
#pragma once
#include <span>

#include "builtins/core/builtin.h"

namespace sheaf::builtins {

std::span<const BuiltinDef> op_builtins();
std::span<const BuiltinDef> arithmetic_builtins();
std::span<const BuiltinDef> math_builtins();
std::span<const BuiltinDef> complex_builtins();
std::span<const BuiltinDef> bits_builtins();
std::span<const BuiltinDef> compare_builtins();
std::span<const BuiltinDef> shape_builtins();
std::span<const BuiltinDef> create_builtins();
std::span<const BuiltinDef> movement_builtins();
std::span<const BuiltinDef> padding_builtins();
std::span<const BuiltinDef> order_builtins();
std::span<const BuiltinDef> index_builtins();
std::span<const BuiltinDef> at_builtins();
std::span<const BuiltinDef> reduce_builtins();
std::span<const BuiltinDef> loss_builtins();
std::span<const BuiltinDef> linalg_builtins();
std::span<const BuiltinDef> fourier_builtins();
std::span<const BuiltinDef> window_builtins();
std::span<const BuiltinDef> random_builtins();
std::span<const BuiltinDef> quantize_builtins();
std::span<const BuiltinDef> gradient_builtins();
std::span<const BuiltinDef> vmap_builtins();

}  // namespace sheaf::builtins
