#include "codegen/block/loops.h"

namespace sheaf::codegen::block {

Run arithmetic_f32(loop::Op op, Shape a, Shape b, Shape c) { return arithmetic_of<float>(op, a, b, c); }
Run arithmetic_f64(loop::Op op, Shape a, Shape b, Shape c) { return arithmetic_of<double>(op, a, b, c); }

}  // namespace sheaf::codegen::block
