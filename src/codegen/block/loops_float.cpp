#include "codegen/block/loops.h"
#include "kernels/simd/simd.h"

namespace sheaf::codegen::block {
namespace {

template <class T>
using Kernels = Arithmetic<T>;
#define SHEAF_KERNELS "codegen/block/tuned.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

Run arithmetic_f32(loop::Op op, Shape a, Shape b, Shape c) { return kernels<float>().find(op, a, b, c); }
Run arithmetic_f64(loop::Op op, Shape a, Shape b, Shape c) { return kernels<double>().find(op, a, b, c); }

}  // namespace sheaf::codegen::block
