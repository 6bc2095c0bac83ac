// Templates for the routines `attention` and `attention_vjp`, with the bits of routines/attention: every sum is a chain
// in the order stated there. Scores never reach memory; nothing is added by several blocks, so that there are no
// atomics.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/attention/args.h"

namespace sheaf::codegen::gpu {

// Whether these templates compute it: heads up to kMaxHeadWidth wide, whose sums stay in registers.
inline constexpr int64_t kMaxHeadWidth = 256;
bool has_template(const routines::AttentionArgs<>& a);

// `buffers`: the kernel's numbers of the routine's.
std::vector<EmittedLaunch> emit_attention(const routines::AttentionArgs<>& a, const std::vector<int32_t>& buffers,
                                          const std::string& prefix, Helpers& helpers);
std::vector<EmittedLaunch> emit_attention_vjp(const routines::AttentionVjpArgs<>& a,
                                              const std::vector<int32_t>& buffers, const std::string& prefix,
                                              Helpers& helpers);

}  // namespace sheaf::codegen::gpu
