#include <memory>

#include "routines/sort/args.h"
#include "scalar/scalar_ops.h"

namespace sheaf::routines {
namespace {

using namespace scalar;

template <class T>
void cumulate_in(const CallArgs& c) {
  using Acc = std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float, T>;
  const T* x = c.buffer<const T>(0);
  T* y = c.buffer<T>(1);
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

}  // namespace

void cumulate(const CallArgs& c) {
  scalar::visit_dtype(static_cast<DType>(c.args[0]), [&]<class T>(std::type_identity<T>) { cumulate_in<T>(c); });
}

}  // namespace sheaf::routines
