// Products with 8-bit and 4-bit weights (routines/quantized/args.h defines their storage).
#pragma once
#include "ops/apply.h"

namespace sheaf::ops {

// x [B, M, K], values [B, groups, tiles, rows, 4, deep] (i8: 8 bits, u8: 4 bits), scales [B, groups, N] of x's dtype,
// which is f32 or f64.
Operand quantized_dot(Operand x, Operand values, Operand scales);

// Packs [groups, rows, N] to values [groups, tiles, rows / deep, 4, deep] of the given dtype, and the inverse.
Operand quantized_tiles(const Operand& values, int64_t deep, DType dtype);
// The integers encoded by values [groups, tiles, rows, 4, deep] with n columns: [groups, rows of the matrix, n].
Operand quantized_levels(const Operand& values, const Size& n, DType dtype);

}  // namespace sheaf::ops
