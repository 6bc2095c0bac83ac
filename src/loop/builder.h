// Builds kernels. New values go to the end of the innermost open loop; a pure value that an open block already has is
// reused instead of created again. The scalar interface is the one that scalar/math/math_functions.h is written
// against.
#pragma once
#include <bit>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "loop/ir.h"
#include "routines/pack.h"

namespace sheaf::loop {

// An argument of a call: a value of the kernel, or 0.
struct CallArg {
  ValueId value = kNoValue;
  CallArg() = default;
  CallArg(ValueId v) : value(v) {}
};

class Builder {
 public:
  using V = ValueId;
  using Type = DType;
  static constexpr DType F32 = DType::F32, F64 = DType::F64, I32 = DType::I32, I64 = DType::I64, U32 = DType::U32,
                         Bool = DType::Bool;
  explicit Builder(std::string name);

  int buffer(DType dtype, bool written);
  V size();  // a new run-time size parameter
  DType type_of(V v) const { return kernel_.values[v].type; }

  V f32(float x) { return constant(DType::F32, std::bit_cast<uint32_t>(x)); }
  V f64(double x) { return constant(DType::F64, std::bit_cast<int64_t>(x)); }
  V i32(int32_t x) { return constant(DType::I32, x); }
  V i64(int64_t x) { return constant(DType::I64, x); }
  V u32(uint32_t x) { return constant(DType::U32, x); }
  V boolean(bool x) { return constant(DType::Bool, x); }
  V constant(DType type, int64_t bits);
  // A constant of a compute type from a double.
  V number(DType type, double x);

  // Repeats the operation of an instruction (no leaf, no load) on other operands.
  V same(const Inst& inst, V a, V b, V c);
  V unary(Op op, V a) { return emit({op, type_of(a), type_of(a), {a, kNoValue, kNoValue}}); }
  V binary(Op op, V a, V b);
  V compare(Op op, V a, V b);
  V add(V a, V b) { return binary(Op::Add, a, b); }
  V sub(V a, V b) { return binary(Op::Sub, a, b); }
  V mul(V a, V b) { return binary(Op::Mul, a, b); }
  V div(V a, V b) { return binary(Op::Div, a, b); }
  V fma(V a, V b, V c) { return emit({Op::Fma, type_of(a), type_of(a), {a, b, c}}); }
  V neg(V a) { return unary(Op::Neg, a); }
  V abs(V a) { return unary(Op::Abs, a); }
  V sqrt(V a) { return unary(Op::Sqrt, a); }
  V floor(V a) { return unary(Op::Floor, a); }
  V ceil(V a) { return unary(Op::Ceil, a); }
  V trunc(V a) { return unary(Op::Trunc, a); }
  V rint(V a) { return unary(Op::Rint, a); }
  V min(V a, V b) { return binary(Op::Min, a, b); }
  V max(V a, V b) { return binary(Op::Max, a, b); }
  V and_(V a, V b) { return binary(Op::And, a, b); }
  V or_(V a, V b) { return binary(Op::Or, a, b); }
  V xor_(V a, V b) { return binary(Op::Xor, a, b); }
  V not_(V a) { return unary(Op::Not, a); }
  V shl(V a, V b) { return binary(Op::Shl, a, b); }
  V shr(V a, V b) { return binary(Op::Shr, a, b); }
  V sar(V a, V b) { return binary(Op::Sar, a, b); }
  V lt(V a, V b) { return compare(Op::Lt, a, b); }
  V le(V a, V b) { return compare(Op::Le, a, b); }
  V gt(V a, V b) { return compare(Op::Gt, a, b); }
  V ge(V a, V b) { return compare(Op::Ge, a, b); }
  V eq(V a, V b) { return compare(Op::Eq, a, b); }
  V ne(V a, V b) { return compare(Op::Ne, a, b); }
  V select(V c, V a, V b) { return emit({Op::Select, type_of(a), type_of(a), {c, a, b}}); }
  V seldom(V c, V a, V b) { return emit({Op::Seldom, type_of(a), type_of(a), {c, a, b}}); }
  V convert(V a, DType to);
  V bitcast(V a, DType to) { return emit({Op::Bitcast, to, type_of(a), {a, kNoValue, kNoValue}}); }
  V bitcast_f32_i32(V a) { return bitcast(a, DType::I32); }
  V bitcast_i32_f32(V a) { return bitcast(a, DType::F32); }
  V bitcast_f64_i64(V a) { return bitcast(a, DType::I64); }
  V bitcast_i64_f64(V a) { return bitcast(a, DType::F64); }

  V load(int buffer, V offset);
  void store(int buffer, V offset, V value);
  void check(V condition, int site, V payload);
  void call(std::string routine, std::vector<int32_t> buffers, std::vector<V> arguments);
  // Calls the routine that takes these arguments (routines/pack.h); options become constants.
  template <template <class> class Args>
  void call(std::vector<int32_t> buffers, const Args<CallArg>& args) {
    call(std::string(Args<CallArg>::kRoutine), std::move(buffers), routines::pack_as(args, [&](auto x) {
           if constexpr (std::is_same_v<decltype(x), CallArg>)
             return x.value == kNoValue ? i64(0) : x.value;
           else
             return i64(static_cast<int64_t>(x));
         }));
  }

  // Opens a loop and returns its variable; `end` closes the innermost open loop.
  V begin_loop(V extent, Mark mark);
  void end();
  V begin_reduce(V extent, Combine combine);
  // Closes the reduction over `element`; returns its result (ArgMax, ArgMin: the i64 position).
  V end_reduce(V element);

  Kernel finish();

 private:
  using Key = std::tuple<Op, DType, DType, V, V, V, int64_t>;
  struct Scope {
    Stmt stmt;
    std::map<Key, V> known;
  };
  V emit(Inst inst);
  Block& block() { return scopes_.back().stmt.body; }

  Kernel kernel_;
  std::vector<Scope> scopes_;
};

}  // namespace sheaf::loop
