#include "codegen/block/loops.h"
#include "kernels/simd/simd.h"

namespace sheaf::codegen::block {
namespace {

template <class To, class From, bool varying>
void convert(const BlockStep& s, RunState& c) {
  map1<varying, To, From>(s, c, [](From x) { return scalar::convert<To>(x); });
}

template <class From, template <Run> class In>
Run convert_of(DType to, bool varying) {
  return scalar::visit_dtype(to, [&]<class To>(std::type_identity<To>) -> Run {
    return varying ? In<convert<To, From, true>>::kRun : convert<To, From, false>;
  });
}

template <class From>
struct Kernels {
  Run (*find)(DType to, bool varying);
  template <template <Run> class In>
  static constexpr Kernels of() {
    return {convert_of<From, In>};
  }
};
#define SHEAF_KERNELS "codegen/block/tuned.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

Run find_arithmetic(const loop::Inst& inst, Shape a, Shape b, Shape c) {
  bool comparison = inst.op >= loop::Op::Lt && inst.op <= loop::Op::Ne;
  switch (comparison ? inst.from : inst.type) {
    case DType::F32: return arithmetic_f32(inst.op, a, b, c);
    case DType::F64: return arithmetic_f64(inst.op, a, b, c);
    case DType::I32: return arithmetic_i32(inst.op, a, b, c);
    case DType::I64: return arithmetic_i64(inst.op, a, b, c);
    case DType::U32: return arithmetic_u32(inst.op, a, b, c);
    case DType::Bool: return arithmetic_bool(inst.op, a, b, c);
    default: return nullptr;
  }
}

Run find_convert(DType from, DType to, bool varying) {
  return scalar::visit_dtype(from,
                             [&]<class From>(std::type_identity<From>) { return kernels<From>().find(to, varying); });
}

}  // namespace sheaf::codegen::block
