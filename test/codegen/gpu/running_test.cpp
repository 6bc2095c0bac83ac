// The templates for running values and recurrences against their definitions, to the bit: all types, sizes around tiles
// and blocks, few chains and many, neighbours and none, in place.
#include "codegen/gpu/running.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/gpu/routine_cases.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::CumulateArgs;
using routines::RecurrenceArgs;
using testing::Any;
using testing::random_memory;

struct Runs : testing::EachProgram {};
SHEAF_EACH_PROGRAM(Runs);

TEST_P(Runs, CumulateEqualsDefinition) {
  testing::RoutineCases<CumulateArgs<>> cases(routines::cumulate, emit_cumulate);
  std::mt19937_64& rng = cases.rng();
  Any any{rng};
  auto add = [&](DType d, int64_t outer, int64_t n, int64_t inner, bool in_place) {
    const CumulateArgs<> a{d, outer, n, inner, static_cast<routines::Running>(rng() % 4)};
    const auto x = random_memory(d, outer * n * inner, rng, 0.4, 1.6);
    cases.add(fmt::format("{} {} x {} x {} what {}", sheaf::name_of(d), outer, n, inner, static_cast<int>(a.what)), a,
              {x, x}, in_place ? std::vector<int>{1, 1} : std::vector<int>{0, 1});
  };
  for (int d = 0; d < kNumDTypes; ++d)
    for (int i = 0; i < 4 && static_cast<DType>(d) != DType::C64; ++i)
      add(static_cast<DType>(d), any(0, 1, 3, 40), any(0, 1, 31, 33, 300, 1025, 2048), any(1, 1, 2, 7, 33),
          rng() % 4 == 0);
  for (DType d : {DType::F32, DType::BF16, DType::I64, DType::F32, DType::I8, DType::F64})
    add(d, any(1, 2), any(2049, 4096, 4097, 9000), any(1, 2, 9), rng() % 2);
  // Four and 32 chains of a warp.
  add(DType::F32, 2200, any(5, 300), 1, false);
  add(DType::F16, 17000, any(3, 40), 1, false);
  cases.compare(*make());
}

TEST_P(Runs, RecurrenceEqualsDefinition) {
  testing::RoutineCases<RecurrenceArgs<>> cases(routines::recurrence, emit_recurrence);
  std::mt19937_64& rng = cases.rng();
  Any any{rng};
  for (DType d : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (int i = 0; i < 6; ++i) {
      const int64_t outer = any(0, 1, 3, 40, 2200), n = outer > 1000 ? any(1, 40) : any(1, 2, 31, 65, 1030),
                    inner = any(1, 1, 2, 9, 33);
      const int64_t elements = outer * (outer > 1000 ? 1 : inner) * n;
      const RecurrenceArgs<> a{d, outer, n, outer > 1000 ? 1 : inner, rng() % 2 == 0};
      cases.add(fmt::format("{} {} x {} x {}{}", sheaf::name_of(d), outer, n, a.inner, a.backward ? " backward" : ""),
                a,
                {random_memory(d, elements, rng, -0.9, 0.9), random_memory(d, elements, rng, -1, 1),
                 random_memory(d, elements, rng, 0, 1)});
    }
  cases.compare(*make());
}

}  // namespace
}  // namespace sheaf::codegen::gpu
