// Templates for the routine `contract` in f32, f64 and integers, with the bits of routines/gemm: accumulators run along
// k in order; at the end of a block of k they are added to totals and cleared. Products with one row or one column have
// four chains in a block. More than kContractPart terms are cut into parts, whose values another launch combines.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/gemm/args.h"
#include "routines/reduce/args.h"

namespace sheaf::codegen::gpu {

// Whether these templates compute the product: operands and result of one type that is accumulated in itself.
bool has_template(const routines::GemmArgs<>& g);

// A tile of C that a block of 256 threads computes; each has side / 16 rows and columns of it.
inline constexpr int kSmallTile = 64, kLargeTile = 128;
int tile_of(const routines::GemmArgs<>& g);

// The launches of a product, with tiles of that side. `buffers`: the kernel's numbers of a, b and c.
std::vector<Launch> emit_contract(const routines::GemmArgs<>& g, int tile, const std::vector<int32_t>& buffers,
                                  const std::string& prefix, Helpers& helpers);

// The totals of the blocks of a long sum, added two neighbours at a time.
inline bool has_template(const routines::SumTotalsArgs<>& a) { return a.n < int64_t{1} << 30; }
std::vector<Launch> emit_sum_totals(const routines::SumTotalsArgs<>& a, const std::vector<int32_t>& buffers,
                                    const std::string& prefix, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
