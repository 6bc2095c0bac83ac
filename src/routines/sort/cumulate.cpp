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

}  // namespace

void cumulate(const RoutineCall& call, const CumulateArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) { cumulate_in<T>(call, args); });
}

}  // namespace sheaf::routines
