// Parallel sorting, searching and running sums, with the results of the definitions.
#pragma once
#include "routines/sort/args.h"

namespace sheaf::kernels {

void sort(const routines::RoutineCall& call, const routines::SortArgs<>& args);
void search_sorted(const routines::RoutineCall& call, const routines::SearchArgs<>& args);
void recurrence(const routines::RoutineCall& call, const routines::RecurrenceArgs<>& args);
void cumulate(const routines::RoutineCall& call, const routines::CumulateArgs<>& args);

}  // namespace sheaf::kernels
