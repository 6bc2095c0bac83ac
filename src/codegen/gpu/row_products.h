// Templates for the routine `contract` where C has one row or one column. Such a product waits for memory: each element
// of the matrix is read once. So a block of threads computes few elements, over several blocks of k at once, and every
// thread requests many elements before it multiplies the first. Bits are those of routines/gemm: four chains in a block
// of k, blocks in order, parts combined by another launch.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/contract.h"

namespace sheaf::codegen::gpu {

// Whether these templates, and no others, compute a product that has_template.
bool is_row_product(const routines::GemmArgs<>& g);

// `buffers`: the kernel's numbers of a, b and c. `aligned`: all begin at multiples of 16 bytes.
std::vector<EmittedLaunch> emit_row_product(const routines::GemmArgs<>& g, const std::vector<int32_t>& buffers,
                                            const std::string& prefix, Helpers& helpers, bool aligned);

}  // namespace sheaf::codegen::gpu
