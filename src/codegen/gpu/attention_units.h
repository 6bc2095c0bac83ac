// Templates for attention of bf16 and f16 and its reverse by matrix units (matrix_units.h): weights are rounded to the
// type of the arrays before they meet v, exponentials are those of the device. Errors of results stay below 4e-3 in
// norm, and two runs are equal: nothing is added by several blocks.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/attention/args.h"

namespace sheaf::codegen::gpu {

// Whether these templates should compute it: more rows than kFewRows, and heads that fill a fragment and fit into the
// memory of a block. Narrower heads would gain nothing, and their gradients, of which few products make an element, may
// lose more than the bound where large terms cancel.
inline constexpr int64_t kMinUnitHeadWidth = 16, kMaxUnitHeadWidth = 128;
bool suits_matrix_units(const routines::AttentionArgs<>& a);

// `buffers`: the kernel's numbers of the routine's. `aligned`: all begin at multiples of 16 bytes.
std::vector<EmittedLaunch> emit_unit_attention(const routines::AttentionArgs<>& a, const std::vector<int32_t>& buffers,
                                               const std::string& prefix, Helpers& helpers, bool aligned);
std::vector<EmittedLaunch> emit_unit_attention_vjp(const routines::AttentionVjpArgs<>& a,
                                                   const std::vector<int32_t>& buffers, const std::string& prefix,
                                                   Helpers& helpers, bool aligned);

}  // namespace sheaf::codegen::gpu
