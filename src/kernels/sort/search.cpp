// Searching in sorted rows: the elements are independent, so threads split them.
#include <algorithm>
#include <bit>

#include "kernels/sort/sort.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kTaskSteps = 2048;  // bisection steps of a task, some 5 us

}  // namespace

void search_sorted(const routines::RoutineCall& call, const routines::SearchArgs<>& args) {
  const int64_t steps = std::bit_width(static_cast<uint64_t>(args.n)) + 1;
  runtime::parallel_for(
      args.rows * args.count, [&](int64_t begin, int64_t end) { routines::search_sorted_part(call, args, begin, end); },
      std::max<int64_t>(1, kTaskSteps / steps));
}

}  // namespace sheaf::kernels
