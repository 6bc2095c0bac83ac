// The words of the language that kernels are printed in: qualifiers, barriers, shuffles and the spelling of float
// operations. Everything else of the text is common to C dialects. CUDA C++ is the only one so far.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sheaf::codegen::gpu {

// Operations of a float type as format strings of {0}, {1}, {2}. Each rounds once, to even, and keeps denormals.
struct FloatWords {
  std::string_view add, sub, mul, div, fma, sqrt;
  std::string_view floor, ceil, trunc, rint, abs;
  std::string_view from_bits;  // of the integer type of the same width
};

struct Dialect {
  std::string_view name;
  std::string_view kernel;         // before the name of a kernel
  std::string_view function;       // before the result type of a device function
  std::string_view global;         // before the type of a pointer to device memory
  std::string_view shared;         // before the declaration of memory that a block shares
  std::string_view launch_bounds;  // of a kernel: {0} threads of a block, of which {1} are to run at once
  std::string_view unroll;         // a line before a loop that is to be unrolled
  std::string_view unroll_times;   // the same, of which {0} iterations are to stand together
  // Waits for the threads of a block or of a warp, and makes their memory visible to each other.
  std::string_view block_barrier, warp_barrier;
  // The value of {0} on the lane {1} further up (only sense below 32 - {1}); that of lane 0; that of the lane whose
  // number differs from the own one in bit {1}.
  std::string_view shuffle_down, broadcast, shuffle_xor;
  // The bits of lanes on which {0} is true; how many bits of {0} are set.
  std::string_view ballot, count_bits;
  std::string_view atomic_add;     // adds {1} to the int at {0}, which other threads may add to as well
  std::string_view dot_bytes;      // {2} plus the products of the four signed bytes of {0} and of {1}
  std::string_view by_value;       // before a struct parameter that a kernel indexes with a run-time value
  std::string_view thread, block;  // number of the thread in its block, and of the block
  std::string_view num_blocks;     // of the launch
  FloatWords f32, f64;
  std::string_view pack;  // a type {0} of {2} elements {1} that is read and written at once, as {3} bytes
  // Statements of a function that computes {body}, or takes the instruction {instruction} where the device has it: of a
  // result {type} in registers of kind {to}, and {operands}.
  std::string_view by_instruction;
  std::string_view failed_check;  // text of fail_check and of the record that it fills (emit.h)
  // Text of device functions over matrix units, for all threads of a warp at once, and over copies in the background:
  // copy_async, commit_copies, wait_for_copies, load_matrices, load_matrices_transposed, multiply_bf16, multiply_f16;
  // and over f32 with the device's rounding: pack_bf16, pack_f16, power_of_two.
  std::string_view matrix_units;

  std::string unroll_by(int times) const { return fmt::format(fmt::runtime(unroll_times), times); }
};

const Dialect& cuda();

}  // namespace sheaf::codegen::gpu
