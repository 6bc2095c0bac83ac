#include "kernels/linalg/linalg.h"
#include "kernels/linalg/steps.h"
#include "routines/linalg/svd.h"

namespace sheaf::kernels {

using routines::RoutineCall;
using routines::visit_wide_float;

void qr(const RoutineCall& c, const routines::QrArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::qr_in<Fast, T>(c, args); });
}
void eigh(const RoutineCall& c, const routines::EighArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::eigh_in<Fast, T>(c, args); });
}
void svd(const RoutineCall& c, const routines::SvdArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::svd_in<Fast, T>(c, args); });
}
void eigvalsh(const RoutineCall& c, const routines::EigvalshArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::eigvalsh_in<Fast, T>(c, args); });
}
void svdvals(const RoutineCall& c, const routines::SvdvalsArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { routines::svdvals_in<Fast, T>(c, args); });
}

}  // namespace sheaf::kernels
