#include <cstring>

#include "codegen/block/loops.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/vector_builder.h"
#include "scalar/math/elementary.h"

namespace sheaf::codegen::block {
namespace {

template <loop::Op op, class T>
void elementary_one(const BlockStep& s, RunState& c) {
  if constexpr (scalar::num_operands(op) == 2)
    *at<T>(c, s.out) = scalar::elementary<op>(*at<const T>(c, s.a), *at<const T>(c, s.b));
  else
    *at<T>(c, s.out) = scalar::elementary<op>(*at<const T>(c, s.a));
}

template <loop::Op op, class T>
void elementary_many(const BlockStep& s, RunState& c) {
  using B = kernels::VectorBuilder<T>;
  using V = typename B::template Vec<T>;
  constexpr bool kTwo = scalar::num_operands(op) == 2;
  B builder;
  T* out = at<T>(c, s.out);
  const T* x = at<const T>(c, s.a);
  const T* y = kTwo ? at<const T>(c, s.b) : x;
  auto one = [&](T* to, const T* p, const T* q) {
    V a, b;
    std::memcpy(&a, p, sizeof a);
    std::memcpy(&b, q, sizeof b);
    V r = scalar::expand<op>(scalar::math::Scalar<B, T>(builder, a), scalar::math::Scalar<B, T>(builder, b)).v;
    std::memcpy(to, &r, sizeof r);
  };
  int64_t n = c.count, i = 0;
  for (; i + B::kLanes <= n; i += B::kLanes)
    one(out + i, x + i, y + i);
  if (i < n) {
    T px[B::kLanes] = {}, py[B::kLanes] = {}, r[B::kLanes];
    std::memcpy(px, x + i, (n - i) * sizeof(T));
    std::memcpy(py, y + i, (n - i) * sizeof(T));
    one(r, px, py);
    std::memcpy(out + i, r, (n - i) * sizeof(T));
  }
}

template <class T, template <Run> class In>
Run elementary_of(loop::Op wanted, bool varying) {
  Run found = nullptr;
  [&]<int... i>(std::integer_sequence<int, i...>) {
    constexpr int base = static_cast<int>(loop::Op::Exp);
    ((wanted == static_cast<loop::Op>(base + i)
          ? void(found = varying ? In<elementary_many<static_cast<loop::Op>(base + i), T>>::kRun
                                 : elementary_one<static_cast<loop::Op>(base + i), T>)
          : void()),
     ...);
  }(std::make_integer_sequence<int, static_cast<int>(loop::Op::ErfInv) - static_cast<int>(loop::Op::Exp) + 1>{});
  return found;
}

template <class T>
struct Kernels {
  Run (*find)(loop::Op, bool varying);
  template <template <Run> class In>
  static constexpr Kernels of() {
    return {elementary_of<T, In>};
  }
};
#define SHEAF_KERNELS "codegen/block/tuned.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

Run find_elementary(loop::Op op, DType type, bool varying) {
  if (type == DType::F32) return kernels<float>().find(op, varying);
  if (type == DType::F64) return kernels<double>().find(op, varying);
  return nullptr;
}

}  // namespace sheaf::codegen::block
