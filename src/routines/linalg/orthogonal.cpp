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

}  // namespace sheaf::routines
