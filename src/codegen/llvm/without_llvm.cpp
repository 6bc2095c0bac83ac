// Replaces target.cpp in a build without LLVM.
#include "codegen/llvm/native.h"
#include "support/error.h"

namespace sheaf::codegen {

bool native_available() { return false; }
NativeObject make_native_object(std::span<const loop::Kernel>) {
  INVARIANT(false, "this build has no LLVM");
  return {};
}

std::string native_text(const loop::Kernel&, NativeText) { return "; this build has no LLVM\n"; }

}  // namespace sheaf::codegen
