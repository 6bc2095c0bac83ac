// The templates for sorting and searching against their definitions: all types, both directions, rows around the sizes
// where the algorithms change, equal elements, zeros of both signs and NaN, the first few of a row, in place.
#include "codegen/gpu/sorting.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/gpu/routine_cases.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::SearchArgs;
using routines::SortArgs;
using testing::Any;
using testing::Memory;
using testing::random_memory;

struct Sorting : testing::EachProgram {};
SHEAF_EACH_PROGRAM(Sorting);

TEST_P(Sorting, SortEqualsDefinition) {
  testing::RoutineCases<SortArgs<>> cases(routines::sort, emit_sort);
  std::mt19937_64& rng = cases.rng();
  Any any{rng};
  auto add = [&](DType d, int64_t rows, int64_t n, int64_t count) {
    const SortArgs<> a{d, rows, n, rng() % 2 == 0, std::min(n, count)};
    // Few different values, so that order among equals shows; or many.
    const double most = static_cast<double>(any(3, 100, 1 << 20));
    const bool in_place = a.count == n && rng() % 3 == 0;
    const Memory x = random_memory(d, rows * n, rng, -most, most), values = random_memory(d, rows * n, rng, 0, 1),
                 positions = random_memory(DType::I32, rows * n, rng, 0, 1);
    cases.add(fmt::format("{} {} x {}, {} of them{}{}", sheaf::name_of(d), rows, n, a.count,
                          a.descending ? ", descending" : "", in_place ? ", in place" : ""),
              a, {x, values, positions}, in_place ? std::vector<int>{1, 1, 2} : std::vector<int>{0, 1, 2});
  };
  for (int d = 0; d < kNumDTypes; ++d) {
    if (static_cast<DType>(d) == DType::C64) continue;  // has no order
    for (int i = 0; i < 4; ++i)
      add(static_cast<DType>(d), any(0, 1, 3, 20), any(0, 1, 2, 3, 31, 64, 65, 300), any(0, 1, 2, 300, 300));
    add(static_cast<DType>(d), any(1, 2), any(4097, 4200, 9000), 9000);
  }
  for (DType d : {DType::F32, DType::BF16, DType::I64}) {
    add(d, 1, any(512, 1023, 4095, 4096), any(3, 4096));
    add(d, any(1, 2), any(4097, 8192, 8193, 20000), any(1, 50, 1024));
  }
  add(DType::F32, 1, 70000, 300);  // the first of segments are two rounds of segments
  cases.compare(*make());
}

TEST_P(Sorting, SearchEqualsDefinition) {
  testing::RoutineCases<SearchArgs<>> cases(routines::search_sorted, emit_search);
  std::mt19937_64& rng = cases.rng();
  Any any{rng};
  for (int d = 0; d < kNumDTypes; ++d)
    for (bool right : {false, true}) {
      if (static_cast<DType>(d) == DType::C64) continue;
      const SearchArgs<> a{static_cast<DType>(d), any(0, 1, 3), any(0, 1, 2, 31, 100), any(0, 1, 40, 300), right};
      // Sorted or not: rows are bisected all the same.
      Memory sorted = random_memory(a.dtype, a.rows * a.n, rng, -20, 20);
      if (a.dtype == DType::F32)
        for (int64_t r = 0; r < a.rows; ++r) {
          auto* row = reinterpret_cast<float*>(sorted.bytes.data()) + r * a.n;
          std::sort(row, row + a.n, [](float x, float y) { return x < y || (x == x && y != y); });
        }
      cases.add(fmt::format("{} {} of {} in {}", sheaf::name_of(a.dtype), a.rows, a.count, a.n), a,
                {sorted, random_memory(a.dtype, a.rows * a.count, rng, -22, 22),
                 random_memory(DType::I32, a.rows * a.count, rng, 0, 1)});
    }
  cases.compare(*make());
}

}  // namespace
}  // namespace sheaf::codegen::gpu
