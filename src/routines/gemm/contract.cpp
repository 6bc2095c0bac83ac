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

// What a contraction of T accumulates in.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float,
                                       std::conditional_t<std::is_same_v<T, int8_t>, int32_t, T>>;

template <class T, class Out = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, T>>
void contract_in(const CallArgs& c) {
  using Acc = Accumulator<T>;
  const T* a = c.buffer<const T>(0);
  const T* b = c.buffer<const T>(1);
  Out* out = c.buffer<Out>(2);
  int64_t batch = c.args[1], m = c.args[2], n = c.args[3], k = c.args[4];
  int64_t sab = c.args[5], sam = c.args[6], sak = c.args[7], sbb = c.args[8], sbk = c.args[9], sbn = c.args[10],
          part = contract_part(k), chains = contract_chains(m, n);
  bool pairs = std::is_same_v<T, BFloat16> && bf16_in_pairs();
  auto part_total = [&](const T* x, const T* y, int64_t terms) {
    int64_t block = contract_block(terms);
    Acc total = 0;
    for (int64_t begin = 0; begin < terms; begin += block) {
      Acc sums[kRowChains] = {};
      int64_t l = begin, end = std::min(terms, begin + block);
      if constexpr (std::is_same_v<T, BFloat16>)
        for (; pairs && l < end; l += 2) {
          bool two = l + 1 < end;
          Acc& sum = sums[(l - begin) / 2 % chains];
          sum = add_pair(sum, x[l * sak], y[l * sbk], two ? x[(l + 1) * sak] : T{}, two ? y[(l + 1) * sbk] : T{});
        }
      for (; l < end; ++l) {
        Acc& sum = sums[(l - begin) % chains];
        sum = apply<Op::Fma>(convert<Acc>(x[l * sak]), convert<Acc>(y[l * sbk]), sum);
      }
      // sum_of_chains, of integers that wrap too
      total = apply<Op::Add>(total, apply<Op::Add>(apply<Op::Add>(sums[0], sums[1]), apply<Op::Add>(sums[2], sums[3])));
    }
    return total;
  };
  for (int64_t p = 0; p < batch; ++p)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        std::vector<Acc> waiting;
        auto fold = [&] {
          Acc later = waiting.back();
          waiting.pop_back();
          waiting.back() = apply<Op::Add>(waiting.back(), later);
        };
        for (int64_t begin = 0, number = 0; begin < k; begin += part, ++number) {
          waiting.push_back(part_total(a + p * sab + i * sam + begin * sak, b + p * sbb + begin * sbk + j * sbn,
                                       std::min(part, k - begin)));
          for (int64_t bits = number; bits & 1; bits >>= 1)
            fold();
        }
        while (waiting.size() > 1)
          fold();
        *out++ = convert<Out>(waiting.empty() ? Acc(0) : waiting[0]);
      }
}

}  // namespace

void contract(const CallArgs& c) {
  switch (static_cast<DType>(c.args[0])) {
    case DType::F32: return contract_in<float>(c);
    case DType::F64: return contract_in<double>(c);
    case DType::BF16: return contracts_to_f32(c.args) ? contract_in<BFloat16, float>(c) : contract_in<BFloat16>(c);
    case DType::F16: return contracts_to_f32(c.args) ? contract_in<Float16, float>(c) : contract_in<Float16>(c);
    case DType::I32: return contract_in<int32_t>(c);
    case DType::I64: return contract_in<int64_t>(c);
    case DType::U32: return contract_in<uint32_t>(c);
    case DType::I8: return contract_in<int8_t>(c);
    default: INVARIANT(false, "contract of dtype " << c.args[0]);
  }
}

void contract_groups(const CallArgs& c) {
  for (const GroupProduct& p : group_products(c))
    contract(p.call());
}

}  // namespace sheaf::routines
