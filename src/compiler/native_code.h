// A cache of native code by the inputs of compilation: found in memory, on disk, or compiled. Kernels that compile to
// the same code share it, and no two threads compile the same code at once. Thread-safe.
#pragma once
#include <functional>
#include <memory>

#include "compiler/code_store.h"
#include "loop/ir.h"
#include "passes/loop/specialize.h"
#include "runtime/kernel.h"

namespace sheaf::compiler {

using NativeCode = std::shared_ptr<const runtime::CpuKernel>;

// The key of a kernel's text with some strides known.
CodeKey code_key(std::string_view kernel_text, const std::vector<passes::KnownSize>& known);

// Looks in memory and on disk; nullptr if it is in neither.
NativeCode find_code(const CodeKey& key);
// Finds the code, or compiles the result of `kernel`, for a function of the program. Throws if LLVM fails.
NativeCode find_or_make_code(const CodeKey& key, const std::function<loop::Kernel()>& kernel,
                             const std::string& function);

struct CodeStats {
  uint64_t made = 0, loaded = 0;  // compiled by LLVM; loaded from disk
};
CodeStats code_stats();

}  // namespace sheaf::compiler
