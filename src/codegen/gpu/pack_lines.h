// Operands of products as lines of neighbouring elements. Those whose lines do not begin at multiples of 16 bytes are
// copied to workspace so that they do: matrix units are fed by copies of 16 bytes, and one by one, elements arrive at a
// tenth of that speed. Results that were computed in such lines are copied from there.
#pragma once
#include "codegen/gpu/emit.h"
#include "routines/gemm/args.h"

namespace sheaf::codegen::gpu {

// A matrix of 16-bit elements per batch: strides in elements. A batch stride of 0 is one matrix for all.
struct Lines {
  int64_t batch, lines, length;
  int64_t batch_step, line_step, step;
};

// One operand of a product, and which way its lines run. It has rows (or columns) of k elements.
struct OperandLines {
  bool along_k;
  Lines lines;
};
enum class Factor : uint8_t { A, B };
OperandLines operand_lines(const routines::GemmArgs<>& g, Factor factor);

// Where the copy's lines and matrices are; elements of a line are neighbours. Behind the elements of a line, and in
// lines behind the last, the copy is zero.
Lines packed(const Lines& from);
Lines packed(const Lines& from, int64_t lines);
int64_t packed_bytes(const Lines& copy);

// The launch that copies. `buffer`: the kernel's number of it; `offset`: bytes from the beginning of the workspace.
EmittedLaunch emit_pack(const Lines& from, const Lines& copy, int32_t buffer, int64_t offset, const std::string& name,
                        Helpers& helpers);

// The launch that copies `count` lines in workspace, `line_step` elements apart, to a buffer, where one follows the
// other.
EmittedLaunch emit_unpack(DType type, int64_t count, int64_t length, int64_t line_step, int32_t buffer, int64_t offset,
                          const std::string& name, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
