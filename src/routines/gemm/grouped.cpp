#include "routines/gemm/grouped.h"

#include <algorithm>

namespace sheaf::routines {

std::vector<GroupProduct> group_products(const CallArgs& call) {
  GroupedArgs g(call.args);
  const auto *counts = reinterpret_cast<const int64_t*>(call.buffers[2]), *x = g.x, *other = g.other;
  const int64_t dtype = static_cast<int64_t>(g.dtype), result = static_cast<int64_t>(g.result);
  auto at = [&](int buffer, int64_t element) {
    return call.buffers[buffer] + element * size_bytes(buffer == 3 ? g.result : g.dtype);
  };
  std::vector<GroupProduct> out;
  for (int64_t p = 0; p < g.batch; ++p) {
    int64_t from = 0;
    for (int64_t q = 0; q < g.groups; ++q) {
      int64_t count = std::clamp<int64_t>(counts[p * g.counts[0] + q * g.counts[1]], 0, g.rows - from);
      if (g.outer) {
        int64_t first = count > 0 ? from : 0;  // behind the last row there is no memory to point to
        out.push_back({{at(0, p * x[0] + first * x[1]), at(1, p * other[0] + first * other[1]),
                        at(3, (p * g.groups + q) * g.k * g.n)},
                       {dtype, 1, g.k, g.n, count, 0, x[2], x[1], 0, other[1], other[2], result}});
      } else if (count > 0) {
        out.push_back(
            {{at(0, p * x[0] + from * x[1]), at(1, p * other[0] + q * other[1]), at(3, (p * g.rows + from) * g.n)},
             {dtype, 1, count, g.n, g.k, 0, x[1], x[2], 0, other[2], other[3], result}});
      }
      from += count;
    }
    // Sums over nothing.
    if (!g.outer && from < g.rows)
      out.push_back({{at(0, 0), at(1, 0), at(3, (p * g.rows + from) * g.n)},
                     {dtype, 1, g.rows - from, g.n, 0, 0, 0, 0, 0, 0, 0, result}});
  }
  return out;
}

}  // namespace sheaf::routines
