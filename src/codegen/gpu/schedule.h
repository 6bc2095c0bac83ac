// How a part of a kernel is mapped to the threads of a device: plain data, chosen from the nest and the sizes of the
// launch. Bits never depend on it.
//
// A part is a nest of independent loops (`nest_of`), whose iterations are flattened into items, around a body. A team
// of threads runs an item: one thread, a warp, or a block. Reductions and independent loops of the body are shared out
// among the team; everything else each of its threads computes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/gpu/ranges.h"
#include "codegen/gpu/split.h"
#include "loop/ir.h"

namespace sheaf::codegen::gpu {

inline constexpr int kWarp = loop::kReduceLanes;  // threads of a warp are the lanes of a reduction
static_assert(kWarp == 32);

struct Schedule {
  enum Kind : uint8_t {
    Map,        // a thread per item, no reductions
    Serial,     // a thread per item, with reductions or with checks whose order needs one thread
    WarpRows,   // a warp per item: rows of at most kReduceBlock elements
    BlockRows,  // a block per item: longer rows
    SumAll,     // few items that are a long reduction each: warps for blocks of kReduceBlock elements, then a block of
                // threads for the totals of an item
    Columns,    // a reduction inside the innermost loop: a block takes 32 items, and shares the 32 lanes of each out
    Scatter,  // a loop over elements at places that data decides: 32 items for a warp, which does the iterations whose
              // place it owns
    Tiles,    // of a template: a block per tile of a product
    Chains,   // of a template: a block per 32 elements of a product with one row or column
    Heads,    // of a template: a block per group of rows, or of columns, of a head of attention
    Routine,  // of a template for another routine: its text says
  } kind = Map;
  // A reduction that several blocks share takes two launches: the first leaves totals of kReduceBlock elements in
  // workspace, the second combines them and does the rest.
  enum Stage : uint8_t { Whole, Totals, Rest } stage = Whole;
  int loops = 0;        // of the nest, from the outermost, that are flattened
  int64_t items = 1;    // their iterations; 0: nothing is launched
  int64_t longest = 0;  // elements of the longest loop that a team shares
  int reduction = -1;   // SumAll, Columns: the one that threads share in this way
  int together = 1;     // SumAll: blocks of kReduceBlock elements whose totals a block of threads combines
  int threads = 256;    // of a block
  int64_t blocks = 1;
  // Neighbouring elements that a thread takes, as pieces of at most 16 bytes. Map, Columns: of the innermost loop.
  // BlockRows, SumAll: of a row, where a statement can (piece_length); this is the most that one takes.
  int vector = 1;
  int each = 1;                // Map: elements that a thread takes, a block's threads apart, and reads before it writes
  int owners = 1;              // Scatter: the warps that share the places, a power of two
  int registers = 0;           // WarpRows: elements of the row per lane that stay in registers between loops over it
  bool counts_checks = false;  // failed checks are ordered by counting them, on one thread
};

std::string print(const Schedule& s);

// The loops from `first` inwards whose iterations are all independent, with nothing but values and checks between them.
// Of a block that is no such nest: nothing.
std::vector<const loop::Stmt*> nest_of(const loop::Kernel& k, const loop::Stmt& first, std::span<const int64_t> sizes);

// The loops and reductions of a block that a team shares, where they walk one row: of the same length, none of them in
// another loop. Empty otherwise.
std::vector<const loop::Stmt*> loops_of_row(const loop::Kernel& k, const std::vector<const loop::Stmt*>& body,
                                            std::span<const int64_t> sizes);

// How many neighbouring elements of a row a loop or reduction of a block of threads takes at once (piece_length).
int row_piece(const loop::Kernel& k, const loop::Stmt& s, const Ranges& ranges, std::span<const int64_t> sizes);

// One launch, or the two of a reduction that several blocks share. `aligned`: all buffers begin at multiples of 16
// bytes.
std::vector<Schedule> schedule(const loop::Kernel& k, const Part& part, std::span<const int64_t> sizes, bool aligned);

}  // namespace sheaf::codegen::gpu
