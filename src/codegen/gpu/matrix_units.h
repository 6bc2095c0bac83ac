// Templates for products of bf16 and f16 by the matrix units of a GPU (mma.sync of 16 by 8 by 16, from sm_80 on): f32
// accumulators, and sums in the order of the units, which no definition states. Their bounds: an error of 4e-3 of the
// result in norm for results of 16 bits, of 2e-6 times the root of k for f32; two runs are equal.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/gemm/args.h"

namespace sheaf::codegen::gpu {

// Whether these templates should compute the product: operands of 16 bits, and more rows and columns than
// kFewRows. With fewer the matrix is read once either way, and the templates of contract.h keep the stated order.
inline constexpr int64_t kFewRows = 16;
bool suits_matrix_units(const routines::GemmArgs<>& g);

// How a product is cut: a block has a tile of C, each of its warps a part of that. With several `parts`, stretches of k
// are computed by themselves, and another launch adds them in order: for products with too few tiles.
struct UnitTiling {
  int rows = 128, columns = 128;          // of a block
  int warp_rows = 64, warp_columns = 32;  // of a warp: multiples of 16
  int64_t parts = 1;
  bool packs = false;  // operands whose lines begin anywhere are copied first (pack_lines.h)
  int threads() const { return rows / warp_rows * (columns / warp_columns) * 32; }
  friend bool operator==(const UnitTiling&, const UnitTiling&) = default;
};
UnitTiling unit_tiling_of(const routines::GemmArgs<>& g);

// The launches of a product. `buffers`: the kernel's numbers of a, b and c. `aligned`: all begin at multiples of 16
// bytes.
std::vector<EmittedLaunch> emit_unit_contract(const routines::GemmArgs<>& g, const UnitTiling& tiling,
                                              const std::vector<int32_t>& buffers, const std::string& prefix,
                                              Helpers& helpers, bool aligned);

}  // namespace sheaf::codegen::gpu
