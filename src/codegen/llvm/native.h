// Kernels of the loop IR as machine code of this computer, made by LLVM. Same bits as the reference executor.
// Thread-safe.
//
// Making code and running it are apart: an object holds the code of several kernels and can be kept in a file; loading
// one needs no LLVM.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loop/ir.h"
#include "runtime/kernel.h"
#include "runtime/target.h"

namespace sheaf::codegen {

struct NativeObject {
  struct Call {
    std::string routine;
    std::vector<int32_t> buffers;
    size_t num_arguments;
  };
  std::string elf;                       // a relocatable file without outside symbols; kernel i is the function "k<i>"
  std::vector<std::vector<Call>> calls;  // of each kernel
};

// Whether this program was built with LLVM.
bool native_available();
// Processor and version of LLVM: objects of equal targets can be exchanged. Does not initialise LLVM.
const std::string& native_target();

// Kernels must hold no elementary functions (passes/loop/expand_math.h). Throws an internal error when LLVM fails.
NativeObject make_native_object(std::span<const loop::Kernel> kernels);
// What LLVM is given and what it makes of it, for people: LLVM's IR, or assembly.
enum class NativeText : uint8_t { Ir, Assembly };
std::string native_text(const loop::Kernel& kernel, NativeText what);
// The kernels of an object, ready to run on its target; throws std::runtime_error when it is damaged.
std::vector<std::shared_ptr<const runtime::CpuKernel>> load_native_object(
    const NativeObject& object, const runtime::Target& target = runtime::host_target());

}  // namespace sheaf::codegen
