// The templates for products with quantized weights against the definition, to the bit: weights of 8 and 4 bits as they
// are written and otherwise, groups of many sizes, one row to many, columns around tiles and blocks.
#include "codegen/gpu/quantized.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/gpu/routine_cases.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::QuantizedArgs;
using testing::Any;
using testing::Memory;
using testing::random_memory;

struct Quantized : testing::EachProgram {};
SHEAF_EACH_PROGRAM(Quantized);

QuantizedArgs<> args_of(DType d, bool four_bits, int64_t batch, int64_t m, int64_t n, int64_t groups, int64_t rows,
                        int64_t deep) {
  const int64_t tiles = (n + 3) / 4, k = groups * rows * deep * (four_bits ? 2 : 1);
  QuantizedArgs<> a{
      .dtype = d, .four_bits = four_bits, .batch = batch, .m = m, .n = n, .groups = groups, .rows = rows, .deep = deep};
  a.x = {m * k, k, 1};
  a.values = {groups * tiles * rows * 4 * deep, tiles * rows * 4 * deep, rows * 4 * deep, 4 * deep, deep, 1};
  a.scales = {groups * n, n, 1};
  return a;
}

TEST_P(Quantized, EqualsDefinition) {
  for (const bool aligned : {true, false}) {
    testing::RoutineCases<QuantizedArgs<>> cases(
        routines::contract_quantized,
        aligned ? [](const QuantizedArgs<>& a, const std::vector<int32_t>& buffers, const std::string& prefix,
                     Helpers& h) { return emit_quantized(a, buffers, prefix, h, true); }
                : [](const QuantizedArgs<>& a, const std::vector<int32_t>& buffers, const std::string& prefix,
                     Helpers& h) { return emit_quantized(a, buffers, prefix, h, false); });
    std::mt19937_64& rng = cases.rng();
    Any any{rng};
    auto add = [&](QuantizedArgs<> a) {
      if (rng() % 4 == 0) std::swap(a.x.row, a.x.k), a.x = {a.x.batch, 1, std::max<int64_t>(1, a.m)};
      const int64_t tiles = (a.n + 3) / 4, k = a.groups * a.group_size();
      cases.add(fmt::format("{} {} bits: {} x {} x {}, {} groups of {} x {}", sheaf::name_of(a.dtype),
                            a.four_bits ? 4 : 8, a.batch, a.m, a.n, a.groups, a.rows, a.deep),
                a,
                {random_memory(a.dtype, a.batch * a.m * k, rng, -3, 3),
                 random_memory(a.four_bits ? DType::U8 : DType::I8, a.batch * a.groups * tiles * a.stored() * 4, rng,
                               a.four_bits ? 0 : -128, a.four_bits ? 255.9 : 127.9),
                 random_memory(a.dtype, a.batch * a.groups * a.n, rng, -0.1, 0.1),
                 random_memory(a.dtype, a.batch * a.m * a.n, rng, 0, 1)});
    };
    for (bool four_bits : {false, true}) {
      // Groups of 32, as weights are quantized.
      for (int64_t m : {0, 1, 1, 2, 3, 8, 11})
        add(args_of(DType::F32, four_bits, any(1, 1, 2), m, any(1, 4, 31, 33, 70), any(0, 1, 7, 17, 70), 4,
                    four_bits ? 4 : 8));
      for (int i = 0; i < (aligned ? 8 : 2); ++i)
        add(args_of(DType::F32, four_bits, any(1, 2), any(1, 2, 5), any(3, 40), any(1, 5), any(1, 3, 8, 20),
                    any(1, 2, 4, 8, 16)));
      add(args_of(DType::F64, four_bits, 1, 3, 9, 3, 4, 4));
    }
    cases.compare(*make());
  }
}

}  // namespace
}  // namespace sheaf::codegen::gpu
