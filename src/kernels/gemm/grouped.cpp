#include "kernels/gemm/grouped.h"

#include "kernels/gemm/autotune.h"
#include "kernels/gemm/gemm.h"
#include "kernels/tasks.h"
#include "routines/gemm/grouped.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {

// Large groups each by all threads, then several small ones at a time.
void contract_groups(const routines::CallArgs& call) {
  constexpr int64_t kAloneFlops = 8 * kTaskFlops;  // a product worth all threads
  std::vector<routines::GroupProduct> small;
  UsualWays usual;
  int64_t flops = 1;
  for (const routines::GroupProduct& p : routines::group_products(call)) {
    if (p.flops() > kAloneFlops) {
      contract(p.call());
    } else {
      small.push_back(p);
      flops += p.flops();
    }
  }
  int64_t count = std::ssize(small);
  if (count == 1) return contract(small[0].call());
  runtime::parallel_for(
      count,
      [&](int64_t begin, int64_t end) {
        UsualWays usual_here;
        for (int64_t i = begin; i < end; ++i)
          contract(small[i].call());
      },
      count * kTaskFlops / flops);
}

}  // namespace sheaf::kernels
