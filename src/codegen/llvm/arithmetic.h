// Emits the scalar operations of the loop IR as LLVM instructions on scalars or vectors, with the bits of
// scalar/scalar_ops.h.
#pragma once
#include <functional>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "codegen/llvm/abi.h"
#include "codegen/llvm/emit.h"

namespace llvm {
class Constant;
class Function;
class GlobalVariable;
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace sheaf::codegen::native {

class ArithmeticEmitter {
 public:
  using Value = llvm::Value;
  // Emits a call of a service on scalars.
  using CallService = std::function<Value*(Service, std::initializer_list<Value*>)>;
  ArithmeticEmitter(llvm::IRBuilderBase& builder, const EmitTarget& host, CallService call)
      : b_(builder), host_(host), call_(std::move(call)) {}

  // The LLVM type of d. A bool is one bit in registers and a byte in memory; bf16 and f16 are 16-bit integers.
  llvm::Type* type(DType d, int lanes = 1);
  llvm::Type* memory_type(DType d, int lanes = 1);
  Value* constant(DType d, int64_t bits);
  Value* splat(Value* x, int lanes);

  Value* apply(const loop::Inst& inst, Value* a, Value* b, Value* c);
  Value* convert(Value* x, DType from, DType to);

  // Reductions. Reductions of bools accumulate in bytes.
  static DType accumulator(DType d) { return d == DType::Bool ? DType::U8 : d; }
  Value* identity(loop::Combine c, DType d);
  Value* combine(loop::Combine c, DType d, Value* a, Value* b);
  // For ArgMax and ArgMin: true if a later element x replaces `best`.
  Value* replaces(loop::Combine c, DType d, Value* x, Value* best);
  // True if x and y are equal, or both NaN.
  Value* ties(DType d, Value* x, Value* y);

  // Completes the constant table. Call once after all code is emitted.
  void finish();

 private:
  static int lanes_of(Value* x);
  Value* like(Value* x, DType d, int64_t bits);  // a constant with the lanes of x
  Value* by_lane(llvm::Type* result, std::initializer_list<Value*> args,
                 const std::function<Value*(std::initializer_list<Value*>)>& f);
  Value* minimum(bool is_float, bool is_signed, Value* a, Value* b);
  Value* maximum(bool is_float, bool is_signed, Value* a, Value* b);
  Value* is_zero(Value* x);
  Value* integer(loop::Op op, DType d, Value* a, Value* b);
  Value* fmod(DType d, Value* a, Value* b);
  Value* compare(loop::Op op, DType d, Value* a, Value* b);
  Value* select(Value* condition, Value* yes, Value* no);
  Value* rotation(Value* left, Value* right);
  Value* addend(Value* c);
  Value* table();
  Value* shift(loop::Op op, DType d, Value* a, Value* b);
  Value* to_bf16(Value* x);
  Value* to_f16(Value* x);
  Value* from_f16(Value* x);

  llvm::IRBuilderBase& b_;
  const EmitTarget& host_;
  CallService call_;
  // Constant addends of fused multiply-adds: a table in memory, and its address in each function.
  std::vector<llvm::Constant*> addends_;
  std::unordered_map<llvm::Constant*, int64_t> places_;  // in bytes
  int64_t table_bytes_ = 0;
  llvm::GlobalVariable* table_ = nullptr;
  std::unordered_map<llvm::Function*, Value*> tables_;
};

}  // namespace sheaf::codegen::native
