// Operands whose lines do not begin at multiples of 16 bytes, copied to workspace so that they do: matrix units are fed
// by copies of 16 bytes, and one by one, elements arrive at a tenth of that speed.
#pragma once
#include "codegen/gpu/emit.h"

namespace sheaf::codegen::gpu {

// A matrix of 16-bit elements per batch: strides in elements. A batch stride of 0 is one matrix for all.
struct Lines {
  int64_t batch, lines, length;
  int64_t batch_step, line_step, step;
};

// Where the copy's lines and matrices are; elements of a line are neighbours.
Lines packed(const Lines& from);
int64_t packed_bytes(const Lines& from);

// The launch that copies. `buffer`: the kernel's number of it; `offset`: bytes from the beginning of the workspace.
Launch emit_pack(const Lines& from, int32_t buffer, int64_t offset, const std::string& name, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
