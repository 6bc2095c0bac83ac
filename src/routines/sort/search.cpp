#include "routines/sort/args.h"
#include "scalar/scalar_ops.h"

namespace sheaf::routines {
namespace {

template <class T>
bool before(T x, T y) {
  if constexpr (scalar::kIsNarrowFloat<T>)
    return before(scalar::convert<float>(x), scalar::convert<float>(y));
  else
    return x < y || (x == x && y != y);
}

template <class T>
int32_t insertion_point(const T* sorted, int64_t n, T x, bool right) {
  int64_t lo = 0, hi = n;
  while (lo < hi) {
    int64_t middle = (lo + hi) / 2;
    if (right ? before(x, sorted[middle]) : !before(sorted[middle], x))
      hi = middle;
    else
      lo = middle + 1;
  }
  return static_cast<int32_t>(lo);
}

}  // namespace

void search_sorted_part(const RoutineCall& call, const SearchArgs<>& args, int64_t begin, int64_t end) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) {
    const T *sorted = call.buffer<const T>(0), *x = call.buffer<const T>(1);
    int32_t* positions = call.buffer<int32_t>(2);
    for (int64_t i = begin; i < end; ++i)
      positions[i] = insertion_point(sorted + i / args.count * args.n, args.n, x[i], args.right);
  });
}

void search_sorted(const RoutineCall& call, const SearchArgs<>& args) {
  search_sorted_part(call, args, 0, args.rows * args.count);
}

}  // namespace sheaf::routines
