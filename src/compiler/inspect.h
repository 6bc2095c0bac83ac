// Plans as text, and what about them costs time without need.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/llvm/native.h"
#include "compiler/compile.h"

namespace sheaf::compiler {

// Steps in order, with what each reads and writes: (input 0:80, scratch+64:16 -> output 0:80), in bytes.
std::string plan_text(const runtime::Plan& plan, const Backend& backend = cpu_backend());
// The native code of its kernels, each distinct one once.
std::string native_text(const runtime::Plan& plan, codegen::NativeText what);

// A kernel as text for a GPU, for launches with these sizes: the schedule of each launch, and the functions it calls.
std::string gpu_text(const loop::Kernel& k, std::span<const int64_t> sizes);
// The same for the kernels of a plan, each distinct one once. Threads of a processor want other loops than those of a
// GPU: plans to be printed are made without the pass `chunk`.
std::string gpu_text(const runtime::Plan& plan);

struct Hint {
  Span span;
  std::string text;
  int64_t bytes = 0;  // that could be saved, to put large ones first
};
// Copies that a change of layout forces, and numbers that were made wider without being asked to.
std::vector<Hint> performance_hints(const graph::Graph& g, const runtime::Plan& plan);

}  // namespace sheaf::compiler
