// The table of routines: the fast algorithm of each, by the name that a `call` statement has. They give the bits of the
// definitions in `routines/`, on any number of threads. Any thread may call them.
#pragma once
#include "routines/routine.h"

namespace sheaf::runtime {
struct Target;
}

namespace sheaf::kernels {

// The fast algorithm of a routine, its definition where there is no other, or nullptr when there is no such routine.
routines::Routine find_fast_routine(std::string_view name);

// The facts of a target that decide bits.
routines::Arithmetic arithmetic_of(const runtime::Target& target);

}  // namespace sheaf::kernels
