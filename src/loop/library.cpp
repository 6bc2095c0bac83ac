#include "loop/library.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "loop/attention.h"
#include "loop/decompose.h"
#include "loop/factor.h"
#include "loop/grouped.h"
#include "loop/pairs.h"
#include "loop/quantized.h"
#include "loop/scalar_ops.h"
#include "support/error.h"

namespace sheaf::loop {
namespace {

using namespace scalar;

template <class T>
T* pointer(const CallArgs& c, int i) {
  return reinterpret_cast<T*>(c.buffers[i]);
}

// What a contraction of T accumulates in.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float,
                                       std::conditional_t<std::is_same_v<T, int8_t>, int32_t, T>>;

template <class T, class Out = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, T>>
void contract_in(const CallArgs& c) {
  using Acc = Accumulator<T>;
  const T* a = pointer<const T>(c, 0);
  const T* b = pointer<const T>(c, 1);
  Out* out = pointer<Out>(c, 2);
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

// Element l of a group of a column, as a whole number; `from` is the group's first element of the column.
template <class W>
int32_t level(const W* from, const QuantizedArgs& g, int64_t l) {
  int64_t r = l % g.stored();
  W stored = from[r / g.deep * g.values.row + r % g.deep * g.values.deep];
  if (!g.four_bits) return stored;
  return (l < g.stored() ? stored & 15 : stored >> 4) - 8;
}

// What a group adds to the sum over groups: before its scale.
template <class W>
double group_sum(const double* x, const W* w, const QuantizedArgs& g) {
  double sum = 0;
  for (int64_t l = 0; l < g.group_size(); ++l)
    sum = apply<Op::Fma>(x[l * g.x.k], double(level(w, g, l)), sum);
  return sum;
}
template <class W>
float group_sum(const float* x, const W* w, const QuantizedArgs& g) {
  uint32_t largest = 0;
  for (int64_t l = 0; l < g.group_size(); ++l)
    largest = std::max(largest, std::bit_cast<uint32_t>(x[l * g.x.k]) & 0x7fffffffu);
  QuantizedStep step(largest, g.four_bits);
  if (step.step != step.step) return step.step;
  int64_t sum = 0;
  for (int64_t l = 0; l < g.group_size(); ++l)
    sum += int64_t(step.count(x[l * g.x.k])) * level(w, g, l);
  return float(sum) * step.step;
}

template <class T, class W>
void contract_quantized_in(const CallArgs& c, const QuantizedArgs& g) {
  T* out = pointer<T>(c, 3);
  for (int64_t p = 0; p < g.batch; ++p)
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        T total = 0;
        for (int64_t q = 0; q < g.groups; ++q) {
          const T* x = pointer<const T>(c, 0) + p * g.x.batch + i * g.x.row + q * g.group_size() * g.x.k;
          const W* w = pointer<const W>(c, 1) + p * g.values.batch + q * g.values.group +
                       j / kQuantizedTile * g.values.tile + j % kQuantizedTile * g.values.column;
          T scale = pointer<const T>(c, 2)[p * g.scales.batch + q * g.scales.group + j * g.scales.column];
          total = apply<Op::Fma>(group_sum(x, w, g), scale, total);
        }
        *out++ = total;
      }
}

void contract_quantized(const CallArgs& c) {
  QuantizedArgs g(c.args);
  bool wide = static_cast<DType>(g.dtype) == DType::F64;
  if (g.four_bits)
    wide ? contract_quantized_in<double, uint8_t>(c, g) : contract_quantized_in<float, uint8_t>(c, g);
  else
    wide ? contract_quantized_in<double, int8_t>(c, g) : contract_quantized_in<float, int8_t>(c, g);
}

// A type that orders like T.
template <class T>
auto comparable(T x) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    return convert<float>(x);
  else
    return x;
}

template <class T>
void sort_in(const CallArgs& c) {
  const T* x = pointer<const T>(c, 0);
  T* values = pointer<T>(c, 1);
  int32_t* positions = pointer<int32_t>(c, 2);
  int64_t rows = c.args[1], n = c.args[2], count = c.args[4];
  bool descending = c.args[3] != 0;
  auto row = std::make_unique<T[]>(n);  // X may be V
  auto order = std::make_unique<int32_t[]>(n);
  for (int64_t r = 0; r < rows; ++r, x += n, values += count, positions += count) {
    std::copy(x, x + n, row.get());
    std::iota(order.get(), order.get() + n, 0);
    std::stable_sort(order.get(), order.get() + n, [&](int32_t i, int32_t j) {
      auto a = comparable(row[i]), b = comparable(row[j]);
      if (a != a) return false;
      if (b != b) return true;
      return descending ? a > b : a < b;
    });
    for (int64_t i = 0; i < count; ++i)
      values[i] = row[order[i]], positions[i] = order[i];
  }
}

void sort(const CallArgs& c) {
  visit_dtype(static_cast<DType>(c.args[0]), [&]<class T>(std::type_identity<T>) { sort_in<T>(c); });
}

template <class T>
void cumulate_in(const CallArgs& c) {
  using Acc = std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float, T>;
  const T* x = pointer<const T>(c, 0);
  T* y = pointer<T>(c, 1);
  int64_t outer = c.args[1], n = c.args[2], inner = c.args[3], what = c.args[4];
  auto running = std::make_unique<Acc[]>(inner);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < n; ++i, x += inner, y += inner)
      for (int64_t j = 0; j < inner; ++j) {
        Acc e = convert<Acc>(x[j]);
        if (i > 0) {
          if (what == 0)
            e = combine<Combine::Sum>(running[j], e);
          else if (what == 1)
            e = combine<Combine::Prod>(running[j], e);
          else
            e = combine<Combine::Max>(running[j], e);
        }
        running[j] = e;
        y[j] = convert<T>(e);
      }
}

void cumulate(const CallArgs& c) {
  visit_dtype(static_cast<DType>(c.args[0]), [&]<class T>(std::type_identity<T>) { cumulate_in<T>(c); });
}

void sum_totals(const CallArgs& c) {
  auto in = [&]<class T>(const T* totals, T* sum) {
    std::array<T, 64> waiting;  // one for each bit of the number of totals so far
    int count = 0;
    for (int64_t i = 0; i < c.args[1]; ++i) {
      T total = totals[i];
      for (int64_t bits = i; bits & 1; bits >>= 1)
        total = waiting[--count] + total;
      waiting[count++] = total;
    }
    T total = waiting[--count];
    while (count > 0)
      total = waiting[--count] + total;
    *sum = total;
  };
  if (static_cast<DType>(c.args[0]) == DType::F32)
    in(pointer<const float>(c, 0), pointer<float>(c, 1));
  else
    in(pointer<const double>(c, 0), pointer<double>(c, 1));
}

}  // namespace

Routine find_routine(std::string_view name) {
  if (name == "attention") return attention;
  if (name == "attention_vjp") return attention_vjp;
  if (name == "contract") return contract;
  if (name == "contract_groups") return contract_groups;
  if (name == "contract_quantized") return contract_quantized;
  if (name == "sort") return sort;
  if (name == "cumulate") return cumulate;
  if (name == "sum_totals") return sum_totals;
  if (name == "eigh") return eigh;
  if (name == "svd") return svd;
  if (name == "solve") return solve;
  if (name == "det") return det;
  if (name == "cholesky") return cholesky;
  return nullptr;
}

}  // namespace sheaf::loop
