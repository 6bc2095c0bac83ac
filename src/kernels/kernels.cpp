#include "kernels/kernels.h"

#include "kernels/attention/attention.h"
#include "kernels/fft/fft.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/grouped.h"
#include "kernels/gemm/views.h"
#include "kernels/linalg/linalg.h"
#include "kernels/quantized/quantized.h"
#include "kernels/sort/sort.h"
#include "runtime/target.h"

namespace sheaf::kernels {
namespace {

using routines::entry;

constexpr routines::RoutineEntry kFastForms[] = {
    entry<routines::GemmArgs<>, contract>(),
    entry<routines::GroupedArgs<>, contract_groups>(),
    entry<routines::ContractViewsArgs<>, contract_views>(),
    entry<routines::QuantizedArgs<>, contract_quantized>(),
    entry<routines::AttentionArgs<>, attention>(),
    entry<routines::AttentionVjpArgs<>, attention_vjp>(),
    entry<routines::SortArgs<>, sort>(),
    entry<routines::CumulateArgs<>, cumulate>(),
    entry<routines::RecurrenceArgs<>, recurrence>(),
    entry<routines::SearchArgs<>, search_sorted>(),
    entry<routines::FftArgs<>, fft>(),
    entry<routines::SolveArgs<>, solve>(),
    entry<routines::SolveTriangularArgs<>, solve_triangular>(),
    entry<routines::DetArgs<>, det>(),
    entry<routines::SlogdetArgs<>, slogdet>(),
    entry<routines::LuArgs<>, lu>(),
    entry<routines::QrArgs<>, qr>(),
    entry<routines::EighArgs<>, eigh>(),
    entry<routines::SvdArgs<>, svd>(),
    entry<routines::EigvalshArgs<>, eigvalsh>(),
    entry<routines::SvdvalsArgs<>, svdvals>(),
    entry<routines::CholeskyArgs<>, cholesky>(),
};

}  // namespace

routines::Routine find_fast_routine(std::string_view name) {
  for (const routines::RoutineEntry& f : kFastForms)
    if (f.name == name) return f.routine;
  return routines::find_routine(name);
}

routines::Arithmetic arithmetic_of(const runtime::Target& target) {
  if (!runtime::g_matrix_units) return {};
  return {.bf16_dot = target.bf16_dot, .bf16_tiles = target.amx};
}

}  // namespace sheaf::kernels
