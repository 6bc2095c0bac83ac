// Compiles kernels of the loop IR to machine code for this processor with LLVM. Same bits as the reference executor.
// Thread-safe.
//
// Compiling and running are separate: an object holds the code of several kernels and can be stored in a file; loading
// it needs no LLVM.
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

// True if this program was built with LLVM.
bool native_available();
// Names the processor and the LLVM version: objects of equal targets are interchangeable. Does not initialise LLVM.
const std::string& native_target();

// Compiles kernels, which must not contain elementary functions (passes/loop/expand_math.h). Throws an internal error
// if LLVM fails.
NativeObject make_native_object(std::span<const loop::Kernel> kernels);
// LLVM's input or output as text for people: LLVM IR, or assembly.
enum class NativeText : uint8_t { Ir, Assembly };
std::string native_text(const loop::Kernel& kernel, NativeText what);
// Loads the kernels of an object, ready to run on its target; throws std::runtime_error if it is damaged.
std::vector<std::shared_ptr<const runtime::CpuKernel>> load_native_object(
    const NativeObject& object, const runtime::Target& target = runtime::host_target());

}  // namespace sheaf::codegen
