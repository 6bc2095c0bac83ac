#include "routines/linalg/factor.h"

#include "kernels/linalg/linalg.h"
#include "kernels/linalg/steps.h"

namespace sheaf::kernels {

using routines::RoutineCall;
using routines::visit_wide_float;

void solve(const RoutineCall& c, const routines::SolveArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::solve_in<Fast, T>(c, args); });
}
void solve_triangular(const RoutineCall& c, const routines::SolveTriangularArgs<>& args) {
  visit_wide_float(args.dtype,
                   [&]<class T>(std::type_identity<T>) { routines::solve_triangular_in<Fast, T>(c, args); });
}
void det(const RoutineCall& c, const routines::DetArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::det_in<Fast, T>(c, args); });
}
void slogdet(const RoutineCall& c, const routines::SlogdetArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::slogdet_in<Fast, T>(c, args); });
}
void lu(const RoutineCall& c, const routines::LuArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::lu_in<Fast, T>(c, args); });
}
void cholesky(const RoutineCall& c, const routines::CholeskyArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::cholesky_in<Fast, T>(c, args); });
}

}  // namespace sheaf::kernels
