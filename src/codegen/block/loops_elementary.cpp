#include "codegen/block/loops.h"
#include "loop/math/elementary.h"

namespace sheaf::codegen::block {
namespace {

template <loop::Op op, class T, bool varying>
__attribute__((flatten)) void elementary(const Step& s, Context& c) {
  if constexpr (loop::scalar::num_operands(op) == 2)
    map2<varying, varying, T, T>(s, c, [](T x, T y) { return loop::elementary<op>(x, y); });
  else
    map1<varying, T, T>(s, c, [](T x) { return loop::elementary<op>(x); });
}

template <class T, bool varying>
Run elementary_of(loop::Op wanted) {
  Run found = nullptr;
  [&]<int... i>(std::integer_sequence<int, i...>) {
    constexpr int base = static_cast<int>(loop::Op::Exp);
    ((wanted == static_cast<loop::Op>(base + i) ? void(found = elementary<static_cast<loop::Op>(base + i), T, varying>) : void()), ...);
  }(std::make_integer_sequence<int, static_cast<int>(loop::Op::ErfInv) - static_cast<int>(loop::Op::Exp) + 1>{});
  return found;
}

}  // namespace

Run find_elementary(loop::Op op, DType type, bool varying) {
  if (type == DType::F32) return varying ? elementary_of<float, true>(op) : elementary_of<float, false>(op);
  if (type == DType::F64) return varying ? elementary_of<double, true>(op) : elementary_of<double, false>(op);
  return nullptr;
}

}  // namespace sheaf::codegen::block
