// Functions that interact with the world outside the program, one family per file. Read by builtins/table.cpp.
#pragma once
#include <span>

#include "builtins/core/builtin.h"

namespace sheaf::builtins {

std::span<const BuiltinDef> tokenize_builtins();
std::span<const BuiltinDef> output_builtins();
std::span<const BuiltinDef> process_builtins();
std::span<const BuiltinDef> io_builtins();
std::span<const BuiltinDef> token_batch_builtins();
std::span<const BuiltinDef> token_row_builtins();
std::span<const BuiltinDef> progress_builtins();
std::span<const BuiltinDef> plot_builtins();
std::span<const BuiltinDef> device_builtins();
std::span<const BuiltinDef> test_builtins();

}  // namespace sheaf::builtins
