// Templates for products with quantized weights (routines/quantized/args.h), with the bits of the definition. In f32
// warps have groups and lanes columns: the sums of bytes within a group are exact, and one warp adds up groups in
// order. A launch before it counts the groups of x, into workspace; of one or two rows each warp counts the groups that
// it multiplies. In f64, and where weights lie otherwise in memory, a thread computes an element by itself.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/quantized/args.h"

namespace sheaf::codegen::gpu {

bool has_template(const routines::QuantizedArgs<>& a);

// `buffers`: the kernel's numbers of those that the routine takes. `aligned`: they begin at multiples of 16 bytes.
std::vector<EmittedLaunch> emit_quantized(const routines::QuantizedArgs<>& a, const std::vector<int32_t>& buffers,
                                          const std::string& prefix, Helpers& helpers, bool aligned);

}  // namespace sheaf::codegen::gpu
