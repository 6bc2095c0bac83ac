// What a build without LLVM has in place of target.cpp.
#include "codegen/llvm/native.h"
#include "support/error.h"

namespace sheaf::codegen {

bool native_available() { return false; }
std::string native_target() { return "none"; }
NativeObject make_native_object(std::span<const loop::Kernel>) {
  INVARIANT(false, "this build has no LLVM");
  return {};
}

}  // namespace sheaf::codegen
