#include "routines/gemm/grouped.h"

#include <algorithm>

namespace sheaf::routines {

std::vector<GroupProduct> group_products(const RoutineCall& call, const GroupedArgs<>& g) {
  const auto* counts = call.buffer<const int64_t>(2);
  auto at = [&](int buffer, int64_t element) {
    return call.buffers[buffer] + element * size_bytes(buffer == 3 ? g.result : g.dtype);
  };
  std::vector<GroupProduct> out;
  for (int64_t p = 0; p < g.batch; ++p) {
    int64_t from = 0;
    for (int64_t q = 0; q < g.groups; ++q) {
      int64_t count = std::clamp<int64_t>(counts[p * g.counts[0] + q * g.counts[1]], 0, g.rows - from);
      if (g.outer) {
        int64_t first = count > 0 ? from : 0;  // an empty group may start past the last row
        out.push_back({{at(0, p * g.x.batch + first * g.x.row), at(1, p * g.other.batch + first * g.other.row),
                        at(3, (p * g.groups + q) * g.k * g.n)},
                       {.dtype = g.dtype,
                        .batch = 1,
                        .m = g.k,
                        .n = g.n,
                        .k = count,
                        .a = {0, g.x.column, g.x.row},
                        .b = {0, g.other.row, g.other.column},
                        .result = g.result}});
      } else if (count > 0) {
        out.push_back({{at(0, p * g.x.batch + from * g.x.row), at(1, p * g.other.batch + q * g.other.group),
                        at(3, (p * g.rows + from) * g.n)},
                       {.dtype = g.dtype,
                        .batch = 1,
                        .m = count,
                        .n = g.n,
                        .k = g.k,
                        .a = {0, g.x.row, g.x.column},
                        .b = {0, g.other.row, g.other.column},
                        .result = g.result}});
      }
      from += count;
    }
    // Rows after the last group are sums over nothing: zeros.
    if (!g.outer && from < g.rows)
      out.push_back(
          {{at(0, 0), at(1, 0), at(3, (p * g.rows + from) * g.n)},
           {.dtype = g.dtype, .batch = 1, .m = g.rows - from, .n = g.n, .k = 0, .a = {}, .b = {}, .result = g.result}});
  }
  return out;
}

}  // namespace sheaf::routines
