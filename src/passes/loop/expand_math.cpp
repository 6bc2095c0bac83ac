#include "passes/loop/expand_math.h"

#include "passes/loop/rewrite.h"
#include "scalar/math/elementary.h"

namespace sheaf::passes {
namespace {

using loop::Op;

class Expander final : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  template <class T>
  V expand(Op op, V x, V y) {
    scalar::math::Scalar<loop::Builder, T> a(builder(), x), b(builder(), y);
    V out = loop::kNoValue;
    [&]<int... i>(std::integer_sequence<int, i...>) {
      constexpr int base = static_cast<int>(Op::Exp);
      ((op == static_cast<Op>(base + i) ? void(out = scalar::expand<static_cast<Op>(base + i)>(a, b).v) : void()), ...);
    }(std::make_integer_sequence<int, static_cast<int>(Op::ErfInv) - static_cast<int>(Op::Exp) + 1>{});
    return out;
  }

  V replace(const loop::Inst& inst, V a, V b, V c) override {
    if (inst.op < Op::Exp) return Rewriter::replace(inst, a, b, c);
    if (b == loop::kNoValue) b = a;
    return inst.type == DType::F32 ? expand<float>(inst.op, a, b) : expand<double>(inst.op, a, b);
  }
};

}  // namespace

loop::Kernel expand_math(const loop::Kernel& k) { return Expander(k).run(); }

}  // namespace sheaf::passes
