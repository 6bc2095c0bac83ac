// A kernel compiled to steps, with the layout of the frame that a run uses.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "codegen/block/step.h"
#include "loop/regions.h"

namespace sheaf::codegen::block {

inline constexpr size_t kMaxCallBuffers = 16, kMaxCallArguments = 40;

struct CallSite {
  routines::Routine routine;
  std::vector<int32_t> buffers;
  std::vector<Id> arguments;
};

// Estimated nanoseconds of one iteration of a parallel loop: a sum of products of extents.
struct Cost {
  struct Term {
    double ns;
    std::vector<Id> extents;  // those known where the loop starts
  };
  std::vector<Term> terms;
};

struct BlockProgram {
  Steps body;
  // Frame: the table of addresses, the scalars (initialized from `scalars`), then reduction states and arrays.
  size_t num_ids = 0;
  size_t frame_bytes = 0;
  std::vector<int64_t> offsets;  // initial frame offset of each address, by id
  size_t scalars_at = 0, tail_at = 0;
  std::vector<uint64_t> scalars;  // constants are in place
  std::vector<Id> sizes;          // scalar of each run-time size, or kNoId
  std::vector<std::unique_ptr<CallSite>> calls;
  routines::Arithmetic arithmetic;  // of the routines that `calls` run
  std::vector<std::unique_ptr<Cost>> costs;
};

// Costs of this back end.
inline constexpr loop::WorkRates kRates{.element = 0.3, .elementary = 2, .start = 6, .scalar = 3, .call = 1000};

std::unique_ptr<BlockProgram> compile(const loop::Kernel& kernel, routines::Arithmetic arithmetic);

// Steps that run other steps (execute.cpp).
void run_serial(const BlockStep&, RunState&);  // a: extent, out: index
void run_chunks(const BlockStep&, RunState&);  // a: extent
void run_parallel_serial(const BlockStep&, RunState&);
void run_parallel_chunks(const BlockStep&, RunState&);
void run_reduce(const BlockStep&, RunState&);         // a: extent, c: index, b: element, out: result
void run_reduce_chunks(const BlockStep&, RunState&);  // a: extent, b: element, out: result
void run_call(const BlockStep&, RunState&);

void execute(const BlockProgram&, std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
             loop::CheckRecord& check);

}  // namespace sheaf::codegen::block
