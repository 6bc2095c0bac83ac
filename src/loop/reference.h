// The scalar reference executor: runs a kernel one scalar at a time, exactly as the IR says. It defines what a kernel
// means and is used by tests only.
#pragma once
#include <span>

#include "loop/ir.h"
#include "routines/routine.h"

namespace sheaf::loop {

// `buffers` and `sizes` are in the order of the kernel's parameters; `arithmetic` selects the target whose bits the
// routines reproduce.
void run_reference(const Kernel& kernel, std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                   CheckRecord& check, routines::Arithmetic arithmetic = {});

}  // namespace sheaf::loop
