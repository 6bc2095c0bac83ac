#include "kernels/kernels.h"

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/grouped.h"
#include "kernels/quantized/quantized.h"
#include "kernels/sort/sort.h"

namespace sheaf::kernels {
namespace {

struct FastForm {
  std::string_view name;
  routines::Routine routine;
};
constexpr FastForm kFastForms[] = {
    {"contract", contract},   {"contract_groups", contract_groups}, {"contract_quantized", contract_quantized},
    {"attention", attention}, {"attention_vjp", attention_vjp},     {"sort", sort},
    {"cumulate", cumulate},
};

}  // namespace

routines::Routine find_fast_routine(std::string_view name) {
  for (const FastForm& f : kFastForms)
    if (f.name == name) return f.routine;
  return routines::find_routine(name);
}

}  // namespace sheaf::kernels
