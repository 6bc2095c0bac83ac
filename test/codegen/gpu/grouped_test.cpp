// The template for products of groups of rows against the definition, to the bit: groups of no row, of one, of more
// than a tile, rows that no group has, counts that are wrong, several blocks and parts of k.
#include "codegen/gpu/grouped.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/gpu/routine_cases.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::GroupedArgs;
using testing::Any;
using testing::Memory;
using testing::random_memory;

struct Grouped : testing::EachProgram {};
SHEAF_EACH_PROGRAM(Grouped);

TEST_P(Grouped, EqualsDefinition) {
  testing::RoutineCases<GroupedArgs<>> cases(routines::contract_groups, emit_grouped);
  std::mt19937_64& rng = cases.rng();
  Any any{rng};
  auto add = [&](DType d, bool outer, int64_t batch, int64_t rows, int64_t groups, int64_t k, int64_t n) {
    GroupedArgs<> a{.dtype = d, .outer = outer, .batch = batch, .rows = rows, .groups = groups, .k = k, .n = n};
    a.counts = {groups, 1};
    a.result = size_bytes(d) == 2 && rng() % 2 ? DType::F32 : d;
    a.x = rng() % 2 ? routines::MatrixStrides<int64_t>{rows * k, k, 1}
                    : routines::MatrixStrides<int64_t>{rows * k, 1, rows};
    if (outer)
      a.other = {.batch = rows * n, .group = 0, .row = n, .column = 1};
    else if (rng() % 2)
      a.other = {.batch = groups * k * n, .group = k * n, .row = n, .column = 1};
    else
      a.other = {.batch = groups * k * n, .group = k * n, .row = 1, .column = k};
    Memory counts{DType::I64, std::vector<std::byte>(static_cast<size_t>(batch * groups * 8))};
    for (int64_t p = 0; p < batch; ++p)
      for (int64_t g = 0, left = rows; g < groups; ++g) {
        int64_t count = any(0, 1, 1, left / 2, left);
        if (rng() % 16 == 0) count = any(-3, left + 5);
        left -= std::clamp<int64_t>(count, 0, left);
        std::memcpy(counts.bytes.data() + (p * groups + g) * 8, &count, 8);
      }
    cases.add(fmt::format("{}{} {} x {} rows in {} groups, {} by {}", sheaf::name_of(d), outer ? " outer" : "", batch,
                          rows, groups, k, n),
              a,
              {random_memory(d, batch * rows * k, rng, -1, 1),
               random_memory(d, outer ? batch * rows * n : batch * groups * k * n, rng, -1, 1), counts,
               random_memory(a.result, outer ? batch * groups * k * n : batch * rows * n, rng, 0, 1)});
  };
  for (DType d : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (bool outer : {false, true})
      for (int i = 0; i < (d == DType::F32 ? 10 : 4); ++i)
        add(d, outer, any(1, 1, 2), any(0, 1, 5, 63, 64, 130), any(1, 2, 5), any(1, 3, 17, 64, 70, 600),
            any(1, 2, 33, 64, 65));
  add(DType::F32, false, 1, 3, 2, 17000, 2);
  add(DType::F32, false, 1, 2, 2, 50000, 3);
  add(DType::BF16, true, 1, 40000, 2, 3, 2);
  add(DType::F32, true, 1, 34000, 1, 1, 3);
  cases.compare(*make());
}

}  // namespace
}  // namespace sheaf::codegen::gpu
