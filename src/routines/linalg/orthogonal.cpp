#include "routines/linalg/svd.h"

namespace sheaf::routines {

void qr(const RoutineCall& c, const QrArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { qr_in<Plain, T>(c, args); });
}
void eigh(const RoutineCall& c, const EighArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { eigh_in<Plain, T>(c, args); });
}
void svd(const RoutineCall& c, const SvdArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { svd_in<Plain, T>(c, args); });
}
void eigvalsh(const RoutineCall& c, const EigvalshArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { eigvalsh_in<Plain, T>(c, args); });
}
void svdvals(const RoutineCall& c, const SvdvalsArgs<>& args) {
  visit_wide_float(args.dtype, [&]<class T>(std::type_identity<T>) { svdvals_in<Plain, T>(c, args); });
}

}  // namespace sheaf::routines
