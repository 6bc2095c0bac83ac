// Plans as text, and what about them costs time without need.
#pragma once
#include <string>
#include <vector>

#include "codegen/llvm/native.h"
#include "compiler/compile.h"

namespace sheaf::compiler {

// Steps in order, with what each reads and writes: (input 0:80, scratch+64:16 -> output 0:80), in bytes.
std::string plan_text(const runtime::Plan& plan, const Backend& backend = cpu_backend());
// The native code of its kernels, each distinct one once.
std::string native_text(const runtime::Plan& plan, codegen::NativeText what);

struct Hint {
  Span span;
  std::string text;
  int64_t bytes = 0;  // that could be saved, to put large ones first
};
// Copies that a change of layout forces, and numbers that were made wider without being asked to.
std::vector<Hint> performance_hints(const graph::Graph& g, const runtime::Plan& plan);

}  // namespace sheaf::compiler
