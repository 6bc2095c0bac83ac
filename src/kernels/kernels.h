// The table of routines: maps the name in a `call` statement to the fast algorithm. Results have the bits of the
// definitions in `routines/`, for any number of threads. Any thread may call them.
#pragma once
#include "routines/routine.h"

namespace sheaf::runtime {
struct Target;
}

namespace sheaf::kernels {

// The fast algorithm of a routine, or its definition if there is no fast one; nullptr if there is no such routine.
routines::Routine find_fast_routine(std::string_view name);

// The facts of a target that result bits depend on.
routines::Arithmetic arithmetic_of(const runtime::Target& target);

}  // namespace sheaf::kernels
