// Plans as text, and hints about avoidable costs in them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/llvm/native.h"
#include "compiler/compile.h"

namespace sheaf::compiler {

// The steps in order, with their reads and writes in bytes: (input 0:80, scratch+64:16 -> output 0:80).
std::string plan_text(const runtime::Plan& plan, const Backend& backend = cpu_backend());
// The native code of its kernels, each distinct one once.
std::string native_text(const runtime::Plan& plan, codegen::NativeText what);

// A kernel as GPU text for launches with these sizes: the schedule of each launch, and the functions it calls.
std::string gpu_text(const loop::Kernel& k, std::span<const int64_t> sizes);
// The same for the kernels of a plan, each distinct one once. CPU threads and GPU threads need different loops: build
// plans to be printed without the pass `chunk`.
std::string gpu_text(const runtime::Plan& plan);

struct Hint {
  Span span;
  std::string text;
  int64_t bytes = 0;  // that could be saved; large ones are listed first
};
// Copies that a change of layout forces, and numbers widened implicitly.
std::vector<Hint> performance_hints(const graph::Graph& g, const runtime::Plan& plan);

}  // namespace sheaf::compiler
