// What a schedule asks about memory accesses: whether neighbouring iterations touch neighbouring elements, and what
// several loops over a row compute of the same loads.
#pragma once
#include <span>
#include <vector>

#include "codegen/gpu/ranges.h"
#include "codegen/gpu/split.h"
#include "loop/ir.h"

namespace sheaf::codegen::gpu {

// How many neighbouring elements along a loop or reduction the statements of its body may read and write as one piece
// of at most 16 bytes, a power of two; 1 where they may not. Expects buffers that begin at multiples of 16 bytes.
int piece_length(const loop::Kernel& k, const std::vector<const loop::Stmt*>& body, int axis, const Ranges& ranges,
                 std::span<const int64_t> sizes);
// The same for the innermost loop of a nest that is nothing but pieces.
int vector_length(const loop::Kernel& k, const std::vector<const loop::Stmt*>& nest, const Ranges& ranges,
                  std::span<const int64_t> sizes);

// Whether an offset moves with a loop variable by one element per iteration, or not at all.
enum class Step : uint8_t { None, One, Other };
Step step_of(const loop::Kernel& k, loop::ValueId offset, int axis);

// Whether a value changes with a loop variable; of what is loaded, whether its offset does.
bool depends_on(const loop::Kernel& k, loop::ValueId v, int axis);
// Whether two values are the same expression.
bool equal(const loop::Kernel& k, loop::ValueId x, loop::ValueId y);

// A value that loops over a row compute from what they load, several of them the same: by element, but for the loop's
// variable. The first is computed, the others could as well be kept from there.
struct RowValue {
  loop::ValueId first;
  std::vector<loop::ValueId> later;
};
// What loops and reductions over one row, by their order in the body, should keep so that none reads again what an
// earlier one has read: the last values before they differ. `live`: by value; others are not looked at.
std::vector<RowValue> row_values(const loop::Kernel& k, const std::vector<const loop::Stmt*>& loops,
                                 const std::vector<bool>& live);

}  // namespace sheaf::codegen::gpu
