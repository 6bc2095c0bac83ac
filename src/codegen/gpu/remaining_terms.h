// The last few terms of a product whose other terms have been summed up elsewhere.
#pragma once
#include "codegen/gpu/emit.h"
#include "routines/gemm/args.h"

namespace sheaf::codegen::gpu {

// The launch that adds the terms from `first` on to c, in f32, whose rows are c_line_step elements apart, all rows of a
// batch after all of the one before. `buffers`: the kernel's numbers of a and b.
EmittedLaunch emit_remaining_terms(const routines::GemmArgs<>& g, int64_t first, const std::vector<int32_t>& buffers,
                                   const Parameter& c, int64_t c_line_step, const std::string& name, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
