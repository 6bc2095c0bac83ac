// A routine that combines the block totals of a reduction whose blocks were summed by separate tasks.
#pragma once
#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// Buffers: totals, sum.
template <class Int = int64_t>
struct SumTotalsArgs {
  static constexpr std::string_view kRoutine = "sum_totals";
  DType dtype;  // F32 or F64
  Int n;        // > 0
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.n); }
};

// Adds n totals of blocks (loop/ir.h), the last of which may have fewer elements, with the bits of one reduction over
// all of their elements.
void sum_totals(const RoutineCall& call, const SumTotalsArgs<>& args);

}  // namespace sheaf::routines
