// A template for products of groups of rows (routines/gemm/grouped.h), with the bits of the definition: counts stay on
// the device. A block finds its group and tile by a scan of the counts; there are as many blocks as any counts need.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/gemm/grouped.h"

namespace sheaf::codegen::gpu {

bool has_template(const routines::GroupedArgs<>& a);

// `buffers`: the kernel's numbers of those that the routine takes.
std::vector<EmittedLaunch> emit_grouped(const routines::GroupedArgs<>& a, const std::vector<int32_t>& buffers,
                                        const std::string& prefix, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
