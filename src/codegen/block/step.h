// The compiled form of a kernel for the block back end: arrays of steps, each one call of a precompiled C++ loop.
//
// Every value has an entry in a table of addresses. A *uniform* value is one scalar; a *varying* value is an array with
// an element for each iteration of the current chunk of the vector axis. Addresses are fixed during a run, except those
// of contiguous loads and stores, which point into the caller's memory and advance with the chunk.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "loop/ir.h"
#include "routines/routine.h"

namespace sheaf::codegen::block {

// Iterations of the vector axis that a step runs at a time. Divides kReduceBlock, and is a multiple of kReduceLanes.
// Large enough to amortize the call of a step, small enough that the arrays of a dozen values fit in L1.
inline constexpr int64_t kChunk = 256;
static_assert(loop::kReduceBlock % kChunk == 0 && kChunk % loop::kReduceLanes == 0);

// State of one run of a program on one thread.
struct RunState {
  std::byte** address;  // by value
  int64_t count;        // iterations in the current chunk
  int64_t start;        // the first of them
  std::byte* frame;     // of states and arrays
  std::byte* const* buffers;
  int64_t failed_lane;  // the lowest iteration of the current chunk that failed a check, or kNone
  bool in_chunk;
  loop::CheckRecord pending;  // the record of that failure
  loop::CheckRecord* check;
  const struct BlockProgram* program;
  static constexpr int64_t kNone = INT64_MAX;
};

struct BlockStep;
using Run = void (*)(const BlockStep&, RunState&);
using Steps = std::vector<BlockStep>;
using Id = uint32_t;  // of a value: an entry in the table of addresses
inline constexpr Id kNoId = ~0u;

// Accumulates a reduction; `state` is memory in the frame.
struct Reducer {
  size_t state_bytes;
  void (*init)(std::byte* state);
  // Adds elements `at`, at + 1, … of one reduction (one axis), or element `at` of `count` interleaved reductions.
  void (*add)(std::byte* state, const std::byte* elements, int64_t at, int64_t count);
  // Writes the result (one, or `count` of them); n: the number of elements of each reduction.
  void (*finish)(std::byte* state, std::byte* result, int64_t n, int64_t count);
};

struct BlockStep {
  Run run;
  Id out = kNoId, a = kNoId, b = kNoId, c = kNoId;  // meaning by step
  int64_t imm = 0;
  int64_t own = 0;       // frame offset: of a load's array, used if it cannot point into memory; of a reduction's state
  Steps prologue, body;  // loops
  const Reducer* reducer = nullptr;
  struct CallSite* call = nullptr;
  struct Cost* cost = nullptr;
};

enum class Shape : uint8_t { Uniform, Varying };

// The step function of an arithmetic instruction for operands of these shapes (unused ones Uniform), or nullptr when
// only the all-varying form exists. All uniform: the scalar form.
Run find_arithmetic(const loop::Inst& inst, Shape a, Shape b, Shape c);
Run find_elementary(loop::Op op, DType type, bool varying);
Run find_convert(DType from, DType to, bool varying);
// By element width in bytes.
Run find_select(int width, Shape cond, Shape a, Shape b);
Run find_copy(int width, bool varying);               // out = a
Run find_splat(int width);                            // out[i] = a
Run find_iota();                                      // out[i] = a + (start + i) * b, i64
Run find_load(int width, bool affine);                // out[i] = buffer imm at a + (start + i) * b, or at a[i]
Run find_load_one(int width);                         // out = buffer imm at a
Run find_store(int width, bool affine, Shape value);  // buffer imm at a + (start + i) * b, or at a[i], = c
Run find_store_one(int width);                        // buffer imm at a = c
Run find_point_into();                                // out's address = buffer imm (element width own) at a + start
Run find_check(Shape cond, Shape payload);            // a: condition, b: payload, imm: site

const Reducer& find_reducer(loop::Combine combine, DType type, bool interleaved);

}  // namespace sheaf::codegen::block
