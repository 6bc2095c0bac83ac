// The routine that finishes a reduction whose blocks were summed by separate tasks.
#pragma once
#include "routines/routine.h"

namespace sheaf::routines {

// Adds n totals of blocks (loop/ir.h), the last of which may be of fewer elements, as one reduction of all their
// elements would. Buffers: totals, sum. Arguments: dtype (F32 or F64), n > 0.
void sum_totals(const CallArgs& c);

}  // namespace sheaf::routines
