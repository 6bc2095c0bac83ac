#include "kernels/gemm/grouped.h"

#include "kernels/gemm/autotune.h"
#include "kernels/gemm/gemm.h"
#include "kernels/tasks.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {

// Runs each large group with all threads, then several small groups concurrently.
void contract_groups(const routines::RoutineCall& call, const routines::GroupedArgs<>& args) {
  constexpr int64_t kAloneFlops = 8 * kTaskFlops;  // least flops of a product for all threads
  std::vector<routines::GroupProduct> small;
  const WithoutTuning here;  // sizes are data: each new one would be measured
  int64_t flops = 1;
  auto run = [&](const routines::GroupProduct& p) { kernels::contract({p.buffers, call.arithmetic}, p.args); };
  for (const routines::GroupProduct& p : routines::group_products(call, args)) {
    if (p.flops() > kAloneFlops) {
      run(p);
    } else {
      small.push_back(p);
      flops += p.flops();
    }
  }
  int64_t count = std::ssize(small);
  if (count == 1) return run(small[0]);
  runtime::parallel_for(
      count,
      [&](int64_t begin, int64_t end) {
        const WithoutTuning in_task;
        for (int64_t i = begin; i < end; ++i)
          run(small[i]);
      },
      count * kTaskFlops / flops);
}

}  // namespace sheaf::kernels
