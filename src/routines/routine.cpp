#include "routines/routine.h"

#include "routines/attention/args.h"
#include "routines/gemm/args.h"
#include "routines/gemm/grouped.h"
#include "routines/linalg/args.h"
#include "routines/quantized/args.h"
#include "routines/reduce/args.h"
#include "routines/sort/args.h"

namespace sheaf::routines {
namespace {

struct Definition {
  std::string_view name;
  Routine routine;
};
constexpr Definition kDefinitions[] = {
    {"attention", attention},
    {"attention_vjp", attention_vjp},
    {"contract", contract},
    {"contract_groups", contract_groups},
    {"contract_quantized", contract_quantized},
    {"sort", sort},
    {"cumulate", cumulate},
    {"sum_totals", sum_totals},
    {"eigh", eigh},
    {"svd", svd},
    {"solve", solve},
    {"det", det},
    {"cholesky", cholesky},
};

}  // namespace

Routine find_routine(std::string_view name) {
  for (const Definition& d : kDefinitions)
    if (d.name == name) return d.routine;
  return nullptr;
}

}  // namespace sheaf::routines
