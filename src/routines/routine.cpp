#include "routines/routine.h"

#include "routines/attention/args.h"
#include "routines/fft/args.h"
#include "routines/gemm/args.h"
#include "routines/gemm/grouped.h"
#include "routines/gemm/views.h"
#include "routines/linalg/args.h"
#include "routines/quantized/args.h"
#include "routines/reduce/args.h"
#include "routines/sort/args.h"

namespace sheaf::routines {
namespace {

constexpr RoutineEntry kDefinitions[] = {
    entry<GemmArgs<>, contract>(),
    entry<GroupedArgs<>, contract_groups>(),
    entry<ContractViewsArgs<>, contract_views>(),
    entry<QuantizedArgs<>, contract_quantized>(),
    entry<AttentionArgs<>, attention>(),
    entry<AttentionVjpArgs<>, attention_vjp>(),
    entry<SortArgs<>, sort>(),
    entry<CumulateArgs<>, cumulate>(),
    entry<RecurrenceArgs<>, recurrence>(),
    entry<SearchArgs<>, search_sorted>(),
    entry<SumTotalsArgs<>, sum_totals>(),
    entry<EighArgs<>, eigh>(),
    entry<SvdArgs<>, svd>(),
    entry<EigvalshArgs<>, eigvalsh>(),
    entry<SvdvalsArgs<>, svdvals>(),
    entry<SolveArgs<>, solve>(),
    entry<SolveTriangularArgs<>, solve_triangular>(),
    entry<DetArgs<>, det>(),
    entry<SlogdetArgs<>, slogdet>(),
    entry<LuArgs<>, lu>(),
    entry<QrArgs<>, qr>(),
    entry<CholeskyArgs<>, cholesky>(),
    entry<FftArgs<>, fft>(),
};

}  // namespace

Routine find_routine(std::string_view name) {
  for (const RoutineEntry& d : kDefinitions)
    if (d.name == name) return d.routine;
  return nullptr;
}

}  // namespace sheaf::routines
