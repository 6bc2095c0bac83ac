#include <array>

#include "routines/reduce/args.h"

namespace sheaf::routines {
void sum_totals(const RoutineCall& c, const SumTotalsArgs<>& args) {
  auto in = [&]<class T>(const T* totals, T* sum) {
    std::array<T, 64> waiting;  // partial sums, one for each set bit of the number of totals so far
    int count = 0;
    for (int64_t i = 0; i < args.n; ++i) {
      T total = totals[i];
      for (int64_t bits = i; bits & 1; bits >>= 1)
        total = waiting[--count] + total;
      waiting[count++] = total;
    }
    T total = waiting[--count];
    while (count > 0)
      total = waiting[--count] + total;
    *sum = total;
  };
  if (args.dtype == DType::F32)
    in(c.buffer<const float>(0), c.buffer<float>(1));
  else
    in(c.buffer<const double>(0), c.buffer<double>(1));
}

}  // namespace sheaf::routines
