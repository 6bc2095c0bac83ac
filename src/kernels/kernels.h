// The fast algorithms of the routines, by name. They give the bits of the definitions in `routines/`, on any number of
// threads. Any thread may call them.
#pragma once
#include "routines/routine.h"

namespace sheaf::kernels {

// The fast form of a routine, its definition where there is no other, or nullptr when there is no such routine.
routines::Routine find_fast_routine(std::string_view name);

}  // namespace sheaf::kernels
