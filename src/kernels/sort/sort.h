// Sorting, searching and running sums, shared out to threads; the results of the definitions.
#pragma once
#include "routines/sort/args.h"

namespace sheaf::kernels {

void sort(const routines::Call& call, const routines::SortArgs<>& args);
void search_sorted(const routines::Call& call, const routines::SearchArgs<>& args);
void cumulate(const routines::Call& call, const routines::CumulateArgs<>& args);

}  // namespace sheaf::kernels
