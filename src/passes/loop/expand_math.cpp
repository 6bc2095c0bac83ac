#include "passes/loop/expand_math.h"

#include "passes/loop/rewrite.h"
#include "scalar/math/elementary.h"
#include "scalar/math/remainder.h"

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

  template <class T>
  V remainder(Op op, V x, V y) {
    using S = scalar::math::Scalar<loop::Builder, T>;
    const auto of = [&](S a, S b) {
      return scalar::math::remainder(a, b, [&](S c, S d) { return S(builder(), builder().binary(Op::Rem, c.v, d.v)); });
    };
    const S a(builder(), x), b(builder(), y);
    return (op == Op::Rem ? of(a, b) : of(of(a, b) + b, b)).v;
  }

  V replace(const loop::Inst& inst, V a, V b, V c) override {
    if (inst.op == Op::Rem || inst.op == Op::FloorMod) {
      if (inst.type == DType::F32) return remainder<float>(inst.op, a, b);
      if (inst.type == DType::F64) return remainder<double>(inst.op, a, b);
    }
    if (inst.op < Op::Exp) return Rewriter::replace(inst, a, b, c);
    if (b == loop::kNoValue) b = a;
    return inst.type == DType::F32 ? expand<float>(inst.op, a, b) : expand<double>(inst.op, a, b);
  }
};

}  // namespace

loop::Kernel expand_math(const loop::Kernel& k) { return Expander(k).run(); }

}  // namespace sheaf::passes
