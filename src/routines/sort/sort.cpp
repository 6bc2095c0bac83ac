#include <algorithm>
#include <memory>
#include <numeric>

#include "routines/sort/args.h"
#include "scalar/scalar_ops.h"

namespace sheaf::routines {
namespace {

using namespace scalar;

// x as a type with built-in comparison and the order of T.
template <class T>
auto comparable(T x) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    return convert<float>(x);
  else
    return x;
}

template <class T>
void sort_in(const RoutineCall& c, const SortArgs<>& a) {
  const T* x = c.buffer<const T>(0);
  T* values = c.buffer<T>(1);
  int32_t* positions = c.buffer<int32_t>(2);
  const int64_t n = a.n, count = a.count;
  auto row = std::make_unique<T[]>(n);  // a copy: values may share the memory of x
  auto order = std::make_unique<int32_t[]>(n);
  for (int64_t r = 0; r < a.rows; ++r, x += n, values += count, positions += count) {
    std::copy(x, x + n, row.get());
    std::iota(order.get(), order.get() + n, 0);
    std::stable_sort(order.get(), order.get() + n, [&](int32_t i, int32_t j) {
      auto x = comparable(row[i]), y = comparable(row[j]);
      if (x != x) return false;
      if (y != y) return true;
      return a.descending ? x > y : x < y;
    });
    for (int64_t i = 0; i < count; ++i)
      values[i] = row[order[i]], positions[i] = order[i];
  }
}

}  // namespace

void sort(const RoutineCall& call, const SortArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) { sort_in<T>(call, args); });
}

}  // namespace sheaf::routines
