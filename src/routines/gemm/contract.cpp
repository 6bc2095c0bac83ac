#include <algorithm>
#include <vector>

#include "routines/gemm/args.h"
#include "routines/gemm/grouped.h"
#include "scalar/bf16_dot.h"
#include "scalar/scalar_ops.h"
#include "support/error.h"

namespace sheaf::routines {
namespace {

using namespace scalar;

// The accumulator type of a contraction of T.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float,
                                       std::conditional_t<std::is_same_v<T, int8_t>, int32_t, T>>;

// Sums in groups of kBf16TileTerms, the last padded with zeros.
float total_by_tiles(const BFloat16* x, int64_t x_step, const BFloat16* y, int64_t y_step, int64_t terms) {
  float total = 0;
  auto at = [terms](const BFloat16* p, int64_t step, int64_t l) { return l < terms ? p[l * step] : BFloat16{}; };
  for (int64_t begin = 0; begin < terms; begin += kBf16TileTerms) {
    Bf16TileSum group;
    for (int64_t l = begin; l < begin + kBf16TileTerms; l += 2)
      group.add(at(x, x_step, l), at(y, y_step, l), at(x, x_step, l + 1), at(y, y_step, l + 1));
    total = group.added_to(total);
  }
  return total;
}

template <class T, class Out = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, T>>
void contract_in(const RoutineCall& c, const GemmArgs<>& g) {
  using Acc = Accumulator<T>;
  const T* a = c.buffer<const T>(0);
  const T* b = c.buffer<const T>(1);
  Out* out = c.buffer<Out>(2);
  const int64_t part = contract_part(g.k), chains = contract_chains(g.m, g.n), x_step = g.a.column, y_step = g.b.row;
  const bool dot = std::is_same_v<T, BFloat16> && c.arithmetic.bf16_dot;
  const bool tiles = sums_by_tiles(c.arithmetic, g.dtype, g.m, g.n);
  auto part_total = [&](const T* x, const T* y, int64_t terms) {
    int64_t block = contract_block(terms);
    Acc total = 0;
    if constexpr (std::is_same_v<T, BFloat16>)
      if (tiles) return total_by_tiles(x, x_step, y, y_step, terms);
    for (int64_t begin = 0; begin < terms; begin += block) {
      Acc sums[kRowChains] = {};
      int64_t l = begin, end = std::min(terms, begin + block);
      if constexpr (std::is_same_v<T, BFloat16>)
        for (; dot && l < end; l += 2) {
          bool two = l + 1 < end;
          Acc& sum = sums[(l - begin) / 2 % chains];
          sum = bf16_dot(sum, x[l * x_step], y[l * y_step], two ? x[(l + 1) * x_step] : T{},
                         two ? y[(l + 1) * y_step] : T{});
        }
      for (; l < end; ++l) {
        Acc& sum = sums[(l - begin) % chains];
        sum = apply<Op::Fma>(convert<Acc>(x[l * x_step]), convert<Acc>(y[l * y_step]), sum);
      }
      // sum_of_chains, but integers wrap
      total = apply<Op::Add>(total, apply<Op::Add>(apply<Op::Add>(sums[0], sums[1]), apply<Op::Add>(sums[2], sums[3])));
    }
    return total;
  };
  for (int64_t p = 0; p < g.batch; ++p)
    for (int64_t i = 0; i < g.m; ++i, out += line_of(g))
      for (int64_t j = 0; j < g.n; ++j) {
        std::vector<Acc> waiting;
        auto fold = [&] {
          Acc later = waiting.back();
          waiting.pop_back();
          waiting.back() = apply<Op::Add>(waiting.back(), later);
        };
        for (int64_t begin = 0, number = 0; begin < g.k; begin += part, ++number) {
          waiting.push_back(part_total(a + p * g.a.batch + i * g.a.row + begin * x_step,
                                       b + p * g.b.batch + begin * y_step + j * g.b.column,
                                       std::min(part, g.k - begin)));
          for (int64_t bits = number; bits & 1; bits >>= 1)
            fold();
        }
        while (waiting.size() > 1)
          fold();
        out[j] = convert<Out>(waiting.empty() ? Acc(0) : waiting[0]);
      }
}

}  // namespace

void contract(const RoutineCall& c, const GemmArgs<>& g) {
  const bool to_f32 = g.result == DType::F32;
  switch (g.dtype) {
    case DType::F32: return contract_in<float>(c, g);
    case DType::F64: return contract_in<double>(c, g);
    case DType::BF16: return to_f32 ? contract_in<BFloat16, float>(c, g) : contract_in<BFloat16>(c, g);
    case DType::F16: return to_f32 ? contract_in<Float16, float>(c, g) : contract_in<Float16>(c, g);
    case DType::I32: return contract_in<int32_t>(c, g);
    case DType::I64: return contract_in<int64_t>(c, g);
    case DType::U32: return contract_in<uint32_t>(c, g);
    case DType::I8: return contract_in<int8_t>(c, g);
    default: INVARIANT(false, "contract of dtype " << name_of(g.dtype));
  }
}

void contract_groups(const RoutineCall& c, const GroupedArgs<>& g) {
  for (const GroupProduct& p : group_products(c, g))
    contract({p.buffers, c.arithmetic}, p.args);
}

}  // namespace sheaf::routines
