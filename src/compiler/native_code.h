// Native code by what it is made from: found in memory, on disk, or made now. Kernels that compile to the same code
// share it, and no two threads make the same at once. Thread-safe.
#pragma once
#include <functional>
#include <memory>

#include "compiler/code_store.h"
#include "loop/ir.h"
#include "passes/loop/specialize.h"
#include "runtime/kernel.h"

namespace sheaf::compiler {

using NativeCode = std::shared_ptr<const runtime::CpuKernel>;

// A kernel as text with some strides known.
CodeKey code_key(std::string_view kernel_text, const std::vector<passes::KnownSize>& known);

// In memory or on disk; nullptr when it is in neither place.
NativeCode find_code(const CodeKey& key);
// Found, or compiled from what `kernel` gives, for a function of the program. Throws when LLVM fails.
NativeCode find_or_make_code(const CodeKey& key, const std::function<loop::Kernel()>& kernel,
                             const std::string& function);

struct CodeStats {
  uint64_t made = 0, loaded = 0;  // by LLVM; from disk
};
CodeStats code_stats();

}  // namespace sheaf::compiler
