// Factorizations of matrices, fast: the bits of routines/linalg/args.h. Any thread may call these.
#pragma once
#include "routines/linalg/args.h"

namespace sheaf::kernels {

void solve(const routines::RoutineCall& call, const routines::SolveArgs<>& args);
void solve_triangular(const routines::RoutineCall& call, const routines::SolveTriangularArgs<>& args);
void det(const routines::RoutineCall& call, const routines::DetArgs<>& args);
void slogdet(const routines::RoutineCall& call, const routines::SlogdetArgs<>& args);
void lu(const routines::RoutineCall& call, const routines::LuArgs<>& args);
void qr(const routines::RoutineCall& call, const routines::QrArgs<>& args);
void eigvalsh(const routines::RoutineCall& call, const routines::EigvalshArgs<>& args);
void svdvals(const routines::RoutineCall& call, const routines::SvdvalsArgs<>& args);
void eigh(const routines::RoutineCall& call, const routines::EighArgs<>& args);
void svd(const routines::RoutineCall& call, const routines::SvdArgs<>& args);
void cholesky(const routines::RoutineCall& call, const routines::CholeskyArgs<>& args);

}  // namespace sheaf::kernels
