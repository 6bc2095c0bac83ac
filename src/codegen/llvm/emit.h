// Compiles kernels to LLVM modules and these to object files. Internal to this folder; includes no LLVM headers.
#pragma once
#include <string>
#include <vector>

#include "codegen/llvm/native.h"

namespace llvm {
class Module;
}

namespace sheaf::codegen::native {

// Facts that decide how code is emitted; they never change what it computes.
struct EmitTarget {
  int lanes;  // elements of a piece: a vector register of 32-bit elements
  bool fma;   // fused multiply-add in hardware
  bool f16;   // conversions between f32 and f16 in hardware
  bool bf16;  // conversion from f32 to bf16 in hardware, with rounding and NaN as in scalar/scalar_ops.h
  bool aarch64;
  int64_t bypass_bytes;  // arrays of at least this size are written with streaming stores; 0: none
};

// emit.cpp: adds the function `name` for the kernel to the module; returns the routines that it calls.
std::vector<NativeObject::Call> emit_kernel(const loop::Kernel& kernel, const std::string& name, const EmitTarget& host,
                                            llvm::Module& module);

}  // namespace sheaf::codegen::native
