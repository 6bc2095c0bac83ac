// Running sums, products, maxima and minima: each row is one chain of dependent steps, so rows are shared out to
// threads.
#include <algorithm>

#include "kernels/sort/sort.h"
#include "kernels/tasks.h"
#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {
namespace {

using scalar::Combine;
using scalar::convert;

constexpr int64_t kTaskElements = 4096;  // worth a thread: some 5 us

template <class T>
using Acc = std::conditional_t<scalar::kIsNarrowFloat<T>, float, T>;

// `chains` rows of n elements.
template <class T, Combine combine, int chains>
void run_chains(const T* x, T* y, int64_t n) {
  Acc<T> total[chains];
  for (int r = 0; r < chains; ++r) {
    total[r] = convert<Acc<T>>(x[r * n]);
    y[r * n] = convert<T>(total[r]);
  }
  for (int64_t i = 1; i < n; ++i)
    for (int r = 0; r < chains; ++r) {
      total[r] = scalar::combine<combine>(total[r], convert<Acc<T>>(x[r * n + i]));
      y[r * n + i] = convert<T>(total[r]);
    }
}

template <class T, Combine combine>
void cumulate_by(const routines::RoutineCall& c, const routines::CumulateArgs<>& a) {
  constexpr int64_t kColumns = 256;
  const T* x = c.buffer<const T>(0);
  T* y = c.buffer<T>(1);
  const int64_t outer = a.outer, n = a.n, inner = a.inner;
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    // Each row is a chain of dependent steps: several rows at once keep the arithmetic busy.
    constexpr int kChains = 4;
    runtime::parallel_for(
        pieces(outer, kChains),
        [&](int64_t begin, int64_t end) {
          int64_t row = begin * kChains, last = std::min(outer, end * kChains);
          for (; row + kChains <= last; row += kChains)
            run_chains<T, combine, kChains>(x + row * n, y + row * n, n);
          for (; row < last; ++row)
            run_chains<T, combine, 1>(x + row * n, y + row * n, n);
        },
        std::max<int64_t>(1, kTaskElements / (kChains * n)));
    return;
  }
  int64_t blocks = pieces(inner, kColumns);
  runtime::parallel_for(
      outer * blocks,
      [&](int64_t begin, int64_t end) {
        Acc<T> running[kColumns];
        for (int64_t task = begin; task < end; ++task) {
          int64_t first = task % blocks * kColumns, width = std::min(kColumns, inner - first),
                  at = task / blocks * n * inner + first;
          for (int64_t i = 0; i < n; ++i, at += inner)
            for (int64_t j = 0; j < width; ++j) {
              Acc<T> e = convert<Acc<T>>(x[at + j]);
              running[j] = i == 0 ? e : scalar::combine<combine>(running[j], e);
              y[at + j] = convert<T>(running[j]);
            }
        }
      },
      std::max<int64_t>(1, kTaskElements / (n * std::min(inner, kColumns))));
}

}  // namespace

void cumulate(const routines::RoutineCall& call, const routines::CumulateArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) {
    switch (args.what) {
      case routines::Running::Sum: return cumulate_by<T, Combine::Sum>(call, args);
      case routines::Running::Product: return cumulate_by<T, Combine::Prod>(call, args);
      case routines::Running::Maximum: return cumulate_by<T, Combine::Max>(call, args);
      case routines::Running::Minimum: return cumulate_by<T, Combine::Min>(call, args);
    }
  });
}

}  // namespace sheaf::kernels
