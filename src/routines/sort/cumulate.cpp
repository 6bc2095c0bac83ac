#include "routines/sort/args.h"
#include "scalar/scalar_ops.h"

namespace sheaf::routines {
namespace {

using namespace scalar;

template <class T>
void cumulate_by(const RoutineCall& c, const CumulateArgs<>& a, auto combine) {
  using Acc = std::conditional_t<kIsNarrowFloat<T>, float, T>;
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t j = 0; j < a.inner; ++j) {
      const T* x = c.buffer<const T>(0) + o * a.n * a.inner + j;
      T* y = c.buffer<T>(1) + o * a.n * a.inner + j;
      Acc before{}, own{};  // of the previous blocks, and of this one
      for (int64_t i = 0; i < a.n; ++i, x += a.inner, y += a.inner) {
        const bool begins = i % kRunningBlock == 0;
        if (begins && i > 0) before = i == kRunningBlock ? own : combine(before, own);
        const Acc e = convert<Acc>(*x);
        own = begins ? e : combine(own, e);
        *y = convert<T>(i < kRunningBlock ? own : combine(before, own));
      }
    }
}

template <class T>
void cumulate_in(const RoutineCall& c, const CumulateArgs<>& a) {
  switch (a.what) {
    case Running::Sum: return cumulate_by<T>(c, a, [](auto x, auto y) { return combine<Combine::Sum>(x, y); });
    case Running::Product: return cumulate_by<T>(c, a, [](auto x, auto y) { return combine<Combine::Prod>(x, y); });
    case Running::Maximum: return cumulate_by<T>(c, a, [](auto x, auto y) { return combine<Combine::Max>(x, y); });
    case Running::Minimum: return cumulate_by<T>(c, a, [](auto x, auto y) { return combine<Combine::Min>(x, y); });
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
