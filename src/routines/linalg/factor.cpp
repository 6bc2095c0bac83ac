#include "routines/linalg/factor.h"

namespace sheaf::routines {

void solve(const RoutineCall& c, const SolveArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { solve_in<Plain, T>(c, args); });
}
void solve_triangular(const RoutineCall& c, const SolveTriangularArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { solve_triangular_in<Plain, T>(c, args); });
}
void det(const RoutineCall& c, const DetArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { det_in<Plain, T>(c, args); });
}
void slogdet(const RoutineCall& c, const SlogdetArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { slogdet_in<Plain, T>(c, args); });
}
void lu(const RoutineCall& c, const LuArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { lu_in<Plain, T>(c, args); });
}
void cholesky(const RoutineCall& c, const CholeskyArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { cholesky_in<Plain, T>(c, args); });
}

}  // namespace sheaf::routines
