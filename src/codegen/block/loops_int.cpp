#include "codegen/block/loops.h"

namespace sheaf::codegen::block {

Run arithmetic_i32(loop::Op op, Shape a, Shape b, Shape c) { return arithmetic_of<int32_t>(op, a, b, c); }
Run arithmetic_i64(loop::Op op, Shape a, Shape b, Shape c) { return arithmetic_of<int64_t>(op, a, b, c); }
Run arithmetic_u32(loop::Op op, Shape a, Shape b, Shape c) { return arithmetic_of<uint32_t>(op, a, b, c); }
Run arithmetic_bool(loop::Op op, Shape a, Shape b, Shape c) { return arithmetic_of<bool>(op, a, b, c); }

}  // namespace sheaf::codegen::block
