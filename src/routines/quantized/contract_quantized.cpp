#include <algorithm>
#include <bit>

#include "routines/quantized/args.h"
#include "scalar/scalar_ops.h"

namespace sheaf::routines {
namespace {

using namespace scalar;

// The integer weight l of a group of a column; `from` is the first element of that group and column.
template <class W>
int32_t level(const W* from, const QuantizedArgs<>& g, int64_t l) {
  int64_t r = l % g.stored();
  W stored = from[r / g.deep * g.values.row + r % g.deep * g.values.deep];
  if (!g.four_bits) return stored;
  return (l < g.stored() ? stored & 15 : stored >> 4) - 8;
}

// The sum of a group, before the scale of its weights.
template <class W>
double group_sum(const double* x, const W* w, const QuantizedArgs<>& g) {
  double sum = 0;
  for (int64_t l = 0; l < g.group_size(); ++l)
    sum = apply<Op::Fma>(x[l * g.x.k], double(level(w, g, l)), sum);
  return sum;
}
template <class W>
float group_sum(const float* x, const W* w, const QuantizedArgs<>& g) {
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
void contract_quantized_in(const RoutineCall& c, const QuantizedArgs<>& g) {
  T* out = c.buffer<T>(3);
  for (int64_t p = 0; p < g.batch; ++p)
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        T total = 0;
        for (int64_t q = 0; q < g.groups; ++q) {
          const T* x = c.buffer<const T>(0) + p * g.x.batch + i * g.x.row + q * g.group_size() * g.x.k;
          const W* w = c.buffer<const W>(1) + p * g.values.batch + q * g.values.group +
                       j / kQuantizedTile * g.values.tile + j % kQuantizedTile * g.values.column;
          T scale = c.buffer<const T>(2)[p * g.scales.batch + q * g.scales.group + j * g.scales.column];
          total = apply<Op::Fma>(group_sum(x, w, g), scale, total);
        }
        *out++ = total;
      }
}

}  // namespace

void contract_quantized(const RoutineCall& c, const QuantizedArgs<>& g) {
  bool wide = g.dtype == DType::F64;
  if (g.four_bits)
    wide ? contract_quantized_in<double, uint8_t>(c, g) : contract_quantized_in<float, uint8_t>(c, g);
  else
    wide ? contract_quantized_in<double, int8_t>(c, g) : contract_quantized_in<float, int8_t>(c, g);
}

}  // namespace sheaf::routines
