// Functions of sequences, dicts, trees and text, one family per file. Read by builtins/table.cpp.
#pragma once
#include <span>

#include "builtins/core/builtin.h"

namespace sheaf::builtins {

std::span<const BuiltinDef> sequence_builtins();
std::span<const BuiltinDef> higher_order_builtins();
std::span<const BuiltinDef> tree_builtins();
std::span<const BuiltinDef> dict_builtins();
std::span<const BuiltinDef> string_builtins();

}  // namespace sheaf::builtins
