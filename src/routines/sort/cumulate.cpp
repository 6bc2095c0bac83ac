#include <memory>

#include "routines/sort/args.h"
#include "scalar/scalar_ops.h"

namespace sheaf::routines {
namespace {

using namespace scalar;

template <class T>
void cumulate_in(const RoutineCall& c, const CumulateArgs<>& a) {
  using Acc = std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float, T>;
  const T* x = c.buffer<const T>(0);
  T* y = c.buffer<T>(1);
  const int64_t inner = a.inner;
  auto running = std::make_unique<Acc[]>(inner);
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t i = 0; i < a.n; ++i, x += inner, y += inner)
      for (int64_t j = 0; j < inner; ++j) {
        Acc e = convert<Acc>(x[j]);
        if (i > 0) {
          if (a.what == Running::Sum)
            e = combine<Combine::Sum>(running[j], e);
          else if (a.what == Running::Product)
            e = combine<Combine::Prod>(running[j], e);
          else if (a.what == Running::Maximum)
            e = combine<Combine::Max>(running[j], e);
          else
            e = combine<Combine::Min>(running[j], e);
        }
        running[j] = e;
        y[j] = convert<T>(e);
      }
}

template <class T>
void recurrence_in(const RoutineCall& c, const RecurrenceArgs<>& a) {
  using Acc = std::conditional_t<kIsNarrowFloat<T>, float, T>;
  const T *factors = c.buffer<const T>(0), *terms = c.buffer<const T>(1);
  T* s = c.buffer<T>(2);
  const int64_t n = a.n, inner = a.inner;
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      Acc last{};
      for (int64_t k = 0; k < n; ++k) {
        int64_t i = a.backward ? n - 1 - k : k, at = (o * n + i) * inner + j;
        Acc term = convert<Acc>(terms[at]);
        last = k == 0 ? term : term + convert<Acc>(factors[a.backward ? at + inner : at]) * last;
        s[at] = convert<T>(last);
      }
    }
}

}  // namespace

void recurrence(const RoutineCall& call, const RecurrenceArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsFloat<T> || kIsNarrowFloat<T>) recurrence_in<T>(call, args);
  });
}

void cumulate(const RoutineCall& call, const CumulateArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) { cumulate_in<T>(call, args); });
}

}  // namespace sheaf::routines
