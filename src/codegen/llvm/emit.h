// From kernels to LLVM modules to object files. Internal to this folder; free of LLVM's headers.
#pragma once
#include <string>
#include <vector>

#include "codegen/llvm/native.h"

namespace llvm {
class Module;
}

namespace sheaf::codegen::native {

// What decides how code is emitted; never what it computes.
struct EmitTarget {
  int lanes;  // elements in a piece of a vector: a register of 32-bit elements
  bool fma;   // fused multiply-add in hardware
  bool f16;   // conversions between f32 and f16 in hardware
  bool bf16;  // from f32 to bf16, to the nearest and with NaN as scalar/scalar_ops.h has it
  bool aarch64;
  int64_t bypass_bytes;  // arrays of so many bytes and more are written past the caches; 0 for none
};

// emit.cpp: adds the function `name` for the kernel, and says what it calls.
std::vector<NativeObject::Call> emit_kernel(const loop::Kernel& kernel, const std::string& name, const EmitTarget& host,
                                            llvm::Module& module);

}  // namespace sheaf::codegen::native
