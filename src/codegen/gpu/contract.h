// Templates for the routine `contract` with the bits of routines/gemm, where no instructions of a processor define
// those of bf16: accumulators run along k in order; at the end of a block of k they are added to totals and cleared.
// More than kContractPart terms are cut into parts, whose values another launch combines. Narrow operands are widened
// as they are read. Products with one row or one column have templates of their own (row_products.h).
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/gemm/args.h"
#include "routines/reduce/args.h"

namespace sheaf::codegen::gpu {

// What a product is accumulated in.
DType accumulator(DType d);

// Whether these templates, or those of row_products.h, compute the product.
bool has_template(const routines::GemmArgs<>& g);

// How a product is cut for the device: a block of 256 threads has a tile of C; each thread has side / 16 rows and
// columns of it. With `splits`, blocks of k are computed by themselves, and another launch adds them in order: for
// products with too few tiles.
struct Tiling {
  int side = 64;  // 32, 64 or 128
  bool splits = false;
  friend bool operator==(const Tiling&, const Tiling&) = default;
};
Tiling tiling_of(const routines::GemmArgs<>& g);

// The launches of a product. `buffers`: the kernel's numbers of a, b and c.
std::vector<EmittedLaunch> emit_contract(const routines::GemmArgs<>& g, Tiling tiling,
                                         const std::vector<int32_t>& buffers, const std::string& prefix,
                                         Helpers& helpers);

// What the text of a product begins with, after `number`: which terms of k a block has, [begin, end), and which length
// blocks of k have there (contract_block). With `part_blocks` above 0 each block of a part is a number of its own.
inline constexpr std::string_view kPartOfProduct =
    R"(  const int part = part_blocks > 0 ? number / part_blocks : number;
  int begin = part * part_terms;
  int end = k - begin < part_terms ? k : begin + part_terms;
  const int terms = end - begin;
  const int blocks = terms > 0 ? (terms + 511) / 512 : 1;
  const int block_terms = ((terms + blocks - 1) / blocks + 31) / 32 * 32;
  if (part_blocks > 0) {
    begin += number % part_blocks * block_terms;
    if (begin >= end) return;
    if (end - begin > block_terms) end = begin + block_terms;
  }
)";

// The loop over k of a product's tile, of `side` by `side` elements, for a block of 256 threads. The text computes
// `total[own][own]` from `a`, `b`, their strides `a_row`, `a_column`, `b_row`, `b_column`, the sizes `m` and `n`,
// `first_row` and `first_column` of the tile, and the range [`begin`, `end`) of k in blocks of `block_terms`. All
// threads of the block run it. `a_along`, `b_along`: the operand is contiguous along k.
struct TileLoop {
  std::string text;
  int own = 0, chunk = 0;
  // Where in the tile the thread's row or column `i` is, from `row` or `column` on.
  std::string spread(char i) const;
};
TileLoop tile_loop(DType dtype, int side, bool a_along, bool b_along, Helpers& helpers);

// How a product is cut along k: the parts of the definition, each `terms` long; with `blocks` above 0 the blocks of a
// part by themselves, of which the last part has `last_blocks`.
struct ProductParts {
  int64_t terms, parts, blocks = 0, last_blocks = 0;
  int64_t values() const { return parts * std::max<int64_t>(1, blocks); }  // of which each element is the sum
};
ProductParts parts_of(const routines::GemmArgs<>& g, bool splits);
// The launch that adds up the parts' values, which are in workspace.
EmittedLaunch emit_parts(const routines::GemmArgs<>& g, const ProductParts& parts, const std::string& name, int32_t to,
                         Helpers& helpers);

// Values of `parts` stretches of k in workspace, of type `from`, added in order to give buffer `to`.
EmittedLaunch emit_sum_of_parts(DType from, DType result, const std::string& name, int32_t to, int64_t parts,
                                int64_t elements, Helpers& helpers);

// The totals of the blocks of a long sum, added two neighbours at a time.
inline bool has_template(const routines::SumTotalsArgs<>& a) { return a.n < int64_t{1} << 30; }
std::vector<EmittedLaunch> emit_sum_totals(const routines::SumTotalsArgs<>& a, const std::vector<int32_t>& buffers,
                                           const std::string& prefix, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
