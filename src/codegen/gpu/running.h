// Templates for running values and linear recurrences (routines/sort/args.h), with the bits of the definitions: a
// thread goes along a chain of dependent steps, one of the blocks of a row. The last values of blocks are a chain of
// their own, and a last launch combines each element with what the blocks before it come to.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/sort/args.h"

namespace sheaf::codegen::gpu {

bool has_template(const routines::CumulateArgs<>& a);
bool has_template(const routines::RecurrenceArgs<>& a);

// `buffers`: the kernel's numbers of those that the routine takes.
std::vector<EmittedLaunch> emit_cumulate(const routines::CumulateArgs<>& a, const std::vector<int32_t>& buffers,
                                         const std::string& prefix, Helpers& helpers);
std::vector<EmittedLaunch> emit_recurrence(const routines::RecurrenceArgs<>& a, const std::vector<int32_t>& buffers,
                                           const std::string& prefix, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
