// Templates for sorting rows and for searching sorted ones (routines/sort/args.h). Elements with their places have one
// order, so every algorithm gives the same result: blocks of threads sort up to kSortedByBlock elements by a bitonic
// network in shared memory; the first few of a longer row are among the first few of its segments; longer rows are
// sorted by digits of eight bits, the least significant first, each pass stable.
#pragma once
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/sort/args.h"

namespace sheaf::codegen::gpu {

inline constexpr int64_t kSortedByBlock = 4096;

bool has_template(const routines::SortArgs<>& a);
bool has_template(const routines::SearchArgs<>& a);

// `buffers`: the kernel's numbers of those that the routine takes.
std::vector<EmittedLaunch> emit_sort(const routines::SortArgs<>& a, const std::vector<int32_t>& buffers,
                                     const std::string& prefix, Helpers& helpers);
std::vector<EmittedLaunch> emit_search(const routines::SearchArgs<>& a, const std::vector<int32_t>& buffers,
                                       const std::string& prefix, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
