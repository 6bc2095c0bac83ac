#include "kernels/gemm/integer.h"

#include <algorithm>
#include <type_traits>

#include "kernels/tasks.h"
#include "runtime/thread_pool.h"
#include "support/error.h"
#include "support/ivdep.h"

namespace sheaf::kernels {
namespace {

template <class S>
void contract_in(const routines::RoutineCall& call, const routines::GemmArgs<>& g) {
  using T = std::conditional_t<std::is_same_v<S, int8_t>, int32_t, S>;
  using U = std::make_unsigned_t<T>;
  const S* a = call.buffer<const S>(0);
  const S* b = call.buffer<const S>(1);
  U* c = call.buffer<U>(2);
  runtime::parallel_for(
      g.batch * g.m,
      [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          int64_t p = row / g.m, i = row % g.m;
          U* out = c + row * g.n;
          const S* x = a + p * g.a.batch + i * g.a.row;
          const S* y = b + p * g.b.batch;
          if (g.b.column == 1) {
            std::fill(out, out + g.n, U(0));
            for (int64_t l = 0; l < g.k; ++l) {
              U e = U(T(x[l * g.a.column]));
              const S* r = y + l * g.b.row;
              IVDEP
              for (int64_t j = 0; j < g.n; ++j)
                out[j] += e * U(T(r[j]));
            }
          } else {
            for (int64_t j = 0; j < g.n; ++j) {
              U sum = 0;
              for (int64_t l = 0; l < g.k; ++l)
                sum += U(T(x[l * g.a.column])) * U(T(y[l * g.b.row + j * g.b.column]));
              out[j] = sum;
            }
          }
        }
      },
      std::max<int64_t>(1, kTaskFlops / (8 * g.n * g.k + 1)));
}

}  // namespace

void contract_integers(const routines::RoutineCall& call, const routines::GemmArgs<>& args) {
  switch (args.dtype) {
    case DType::I32: return contract_in<int32_t>(call, args);
    case DType::I64: return contract_in<int64_t>(call, args);
    case DType::U32: return contract_in<uint32_t>(call, args);
    case DType::I8: return contract_in<int8_t>(call, args);
    default: INVARIANT(false, "contract of dtype " << name_of(args.dtype));
  }
}

}  // namespace sheaf::kernels
