#include "codegen/block/loops.h"
#include "kernels/simd/simd.h"

namespace sheaf::codegen::block {
namespace {

template <class T>
using Kernels = Arithmetic<T>;
#define SHEAF_KERNELS "codegen/block/tuned.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

Run arithmetic_i32(loop::Op op, Shape a, Shape b, Shape c) { return kernels<int32_t>().find(op, a, b, c); }
Run arithmetic_i64(loop::Op op, Shape a, Shape b, Shape c) { return kernels<int64_t>().find(op, a, b, c); }
Run arithmetic_u32(loop::Op op, Shape a, Shape b, Shape c) { return kernels<uint32_t>().find(op, a, b, c); }
Run arithmetic_bool(loop::Op op, Shape a, Shape b, Shape c) { return kernels<bool>().find(op, a, b, c); }

}  // namespace sheaf::codegen::block
