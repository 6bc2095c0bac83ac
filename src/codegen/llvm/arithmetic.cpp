#include "codegen/llvm/arithmetic.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/PatternMatch.h>

#include "support/error.h"

namespace sheaf::codegen::native {

using llvm::Value;
using loop::Combine;
using loop::Op;

namespace {

bool is_signed(DType d) { return d == DType::I32 || d == DType::I64 || d == DType::I8 || d == DType::I16; }
bool is_real(DType d) { return d == DType::F32 || d == DType::F64; }
constexpr int kVectorBytes = 16;
int bits_of(DType d) { return d == DType::Bool ? 1 : size_bytes(d) * 8; }

}  // namespace

llvm::Type* ArithmeticEmitter::type(DType d, int lanes) {
  llvm::Type* t = d == DType::F32   ? b_.getFloatTy()
                  : d == DType::F64 ? b_.getDoubleTy()
                                    : static_cast<llvm::Type*>(b_.getIntNTy(bits_of(d)));
  return lanes == 1 ? t : llvm::FixedVectorType::get(t, lanes);
}
llvm::Type* ArithmeticEmitter::memory_type(DType d, int lanes) { return type(d == DType::Bool ? DType::U8 : d, lanes); }

Value* ArithmeticEmitter::constant(DType d, int64_t bits) {
  llvm::APInt raw(64, static_cast<uint64_t>(bits));
  if (d == DType::F32)
    return llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(llvm::APFloat::IEEEsingle(), raw.trunc(32)));
  if (d == DType::F64) return llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(llvm::APFloat::IEEEdouble(), raw));
  return llvm::ConstantInt::get(b_.getContext(), bits_of(d) == 64 ? raw : raw.trunc(static_cast<unsigned>(bits_of(d))));
}

int ArithmeticEmitter::lanes_of(Value* x) {
  auto* t = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return t ? static_cast<int>(t->getNumElements()) : 1;
}

Value* ArithmeticEmitter::splat(Value* x, int lanes) {
  if (lanes == 1) return x;
  if (auto* c = llvm::dyn_cast<llvm::Constant>(x))
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)), c);
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes), x);
}
Value* ArithmeticEmitter::like(Value* x, DType d, int64_t bits) { return splat(constant(d, bits), lanes_of(x)); }

Value* ArithmeticEmitter::by_lane(llvm::Type* result, std::initializer_list<Value*> args,
                                  const std::function<Value*(std::initializer_list<Value*>)>& f) {
  Value* first = *args.begin();
  int lanes = lanes_of(first);
  if (lanes == 1) return f(args);
  Value* out = llvm::PoisonValue::get(result);
  for (int l = 0; l < lanes; ++l) {
    Value* x[3] = {};
    size_t n = 0;
    for (Value* a : args)
      x[n++] = b_.CreateExtractElement(a, static_cast<uint64_t>(l));
    Value* r = n == 1 ? f({x[0]}) : n == 2 ? f({x[0], x[1]}) : f({x[0], x[1], x[2]});
    out = b_.CreateInsertElement(out, r, static_cast<uint64_t>(l));
  }
  return out;
}

Value* ArithmeticEmitter::is_zero(Value* x) { return b_.CreateIsNull(x); }

// For floats, NaN propagates and -0 is less than +0.
Value* ArithmeticEmitter::minimum(bool real, bool sign, Value* a, Value* b) {
  auto of_ints = sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
  return b_.CreateBinaryIntrinsic(real ? llvm::Intrinsic::minimum : of_ints, a, b);
}
Value* ArithmeticEmitter::maximum(bool real, bool sign, Value* a, Value* b) {
  auto of_ints = sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
  return b_.CreateBinaryIntrinsic(real ? llvm::Intrinsic::maximum : of_ints, a, b);
}

// If the divisor is 0 or -1, divides by 1 and replaces the result: these divisions may trap.
Value* ArithmeticEmitter::integer(Op op, DType d, Value* a, Value* b) {
  bool sign = is_signed(d);
  Value* zero = like(a, d, 0);
  Value* one = like(a, d, 1);
  Value* by_zero = is_zero(b);
  Value* by_minus = sign ? b_.CreateICmpEQ(b, like(a, d, -1)) : nullptr;
  Value* safe = b_.CreateSelect(by_minus ? b_.CreateOr(by_zero, by_minus) : by_zero, one, b);
  auto quotient = [&] {
    Value* q = sign ? b_.CreateSDiv(a, safe) : b_.CreateUDiv(a, safe);
    if (by_minus) q = b_.CreateSelect(by_minus, b_.CreateNeg(a), q);
    return b_.CreateSelect(by_zero, zero, q);
  };
  auto remainder = [&] { return sign ? b_.CreateSRem(a, safe) : b_.CreateURem(a, safe); };
  if (op == Op::Div || (op == Op::FloorDiv && !sign)) return quotient();
  Value* r = remainder();
  if (op == Op::Rem || !sign) return r;
  Value* negative = b_.CreateICmpSLT(b_.CreateXor(op == Op::FloorDiv ? a : r, b), zero);
  Value* off = b_.CreateAnd(b_.CreateICmpNE(r, zero), negative);
  if (op == Op::FloorMod) return b_.CreateSelect(off, b_.CreateAdd(r, b), r);
  Value* q = quotient();
  return b_.CreateSelect(off, b_.CreateSub(q, one), q);
}

Value* ArithmeticEmitter::fmod(DType d, Value* a, Value* b) {
  return by_lane(a->getType(), {a, b}, [&](auto x) { return call_(d == DType::F32 ? kFmodF32 : kFmodF64, x); });
}

Value* ArithmeticEmitter::compare(Op op, DType d, Value* a, Value* b) {
  using P = llvm::CmpInst::Predicate;
  constexpr P real[] = {P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE, P::FCMP_OEQ, P::FCMP_UNE};
  constexpr P with_sign[] = {P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE, P::ICMP_EQ, P::ICMP_NE};
  constexpr P without[] = {P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE, P::ICMP_EQ, P::ICMP_NE};
  int i = static_cast<int>(op) - static_cast<int>(Op::Lt);
  return b_.CreateCmp(is_real(d) ? real[i] : is_signed(d) ? with_sign[i] : without[i], a, b);
}

// x > k ? k : x, and the lower bound likewise, keep a NaN x. On x86-64 LLVM selects one instruction for this. On
// aarch64 it does not, though there is one: LLVM does not know that NaN payloads are irrelevant here, so emit the
// minimum.
Value* ArithmeticEmitter::select(Value* condition, Value* yes, Value* no) {
  auto* compared = llvm::dyn_cast<llvm::FCmpInst>(condition);
  auto* limit = llvm::dyn_cast<llvm::Constant>(yes);
  if (!host_.aarch64 || !compared || !limit || compared->getOperand(0) != no || compared->getOperand(1) != yes)
    return b_.CreateSelect(condition, yes, no);
  auto* number =
      llvm::dyn_cast_or_null<llvm::ConstantFP>(limit->getType()->isVectorTy() ? limit->getSplatValue() : limit);
  if (!number || number->isZero() || number->isNaN()) return b_.CreateSelect(condition, yes, no);
  if (compared->getPredicate() == llvm::CmpInst::FCMP_OGT)
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, no, yes);
  if (compared->getPredicate() == llvm::CmpInst::FCMP_OLT)
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, no, yes);
  return b_.CreateSelect(condition, yes, no);
}

Value* ArithmeticEmitter::shift(Op op, DType d, Value* a, Value* b) {
  Value* n = b_.CreateAnd(b, like(a, d, bits_of(d) - 1));
  return op == Op::Shl ? b_.CreateShl(a, n) : op == Op::Shr ? b_.CreateLShr(a, n) : b_.CreateAShr(a, n);
}

Value* ArithmeticEmitter::to_bf16(Value* x) {
  int lanes = lanes_of(x);
  if (host_.bf16) {
    llvm::Type* narrow =
        lanes == 1
            ? b_.getBFloatTy()
            : static_cast<llvm::Type*>(llvm::FixedVectorType::get(b_.getBFloatTy(), static_cast<unsigned>(lanes)));
    return b_.CreateBitCast(b_.CreateFPTrunc(x, narrow), type(DType::BF16, lanes));
  }
  Value* u = b_.CreateBitCast(x, type(DType::I32, lanes));
  Value* high = b_.CreateLShr(u, like(x, DType::I32, 16));
  Value* half = b_.CreateAdd(like(x, DType::I32, 0x7fff), b_.CreateAnd(high, like(x, DType::I32, 1)));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(u, half), like(x, DType::I32, 16));
  Value* r = b_.CreateSelect(b_.CreateFCmpUNO(x, x), b_.CreateOr(high, like(x, DType::I32, 0x40)), rounded);
  return b_.CreateTrunc(r, type(DType::BF16, lanes));
}

// Without hardware support, uses the formulas of scalar/scalar_ops.h.
Value* ArithmeticEmitter::to_f16(Value* x) {
  int lanes = lanes_of(x);
  auto word = [&](int64_t bits) { return like(x, DType::I32, bits); };
  auto real = [&](Value* bits) { return b_.CreateBitCast(bits, type(DType::F32, lanes)); };
  Value* u = b_.CreateBitCast(x, type(DType::I32, lanes));
  Value* sign = b_.CreateAnd(b_.CreateLShr(u, word(16)), word(0x8000));
  if (host_.f16) {
    Value* h = b_.CreateBitCast(b_.CreateFPTrunc(x, lanes == 1 ? b_.getHalfTy()
                                                               : static_cast<llvm::Type*>(llvm::FixedVectorType::get(
                                                                     b_.getHalfTy(), static_cast<unsigned>(lanes)))),
                                type(DType::F16, lanes));
    Value* nan = b_.CreateTrunc(b_.CreateOr(sign, word(0x7e00)), type(DType::F16, lanes));
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), nan, h);
  }
  u = b_.CreateAnd(u, word(0x7fffffff));
  Value* odd = b_.CreateAnd(b_.CreateLShr(u, word(13)), word(1));
  Value* normal = b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(u, odd), word(0xfff - (int64_t{112} << 23))), word(13));
  Value* small = b_.CreateICmpULT(u, word(0x38800000));
  Value* denormal = b_.CreateFAdd(real(b_.CreateSelect(small, u, word(0))), real(word(0x3f000000)));
  denormal = b_.CreateSub(b_.CreateBitCast(denormal, type(DType::I32, lanes)), word(0x3f000000));
  Value* h = b_.CreateSelect(small, denormal, normal);
  h = b_.CreateSelect(b_.CreateICmpUGE(u, word(0x477ff000)), word(0x7c00), h);
  h = b_.CreateSelect(b_.CreateICmpUGT(u, word(0x7f800000)), word(0x7e00), h);
  return b_.CreateTrunc(b_.CreateOr(sign, h), type(DType::F16, lanes));
}
Value* ArithmeticEmitter::from_f16(Value* x) {
  int lanes = lanes_of(x);
  if (host_.f16) {
    llvm::Type* half =
        lanes == 1 ? b_.getHalfTy()
                   : static_cast<llvm::Type*>(llvm::FixedVectorType::get(b_.getHalfTy(), static_cast<unsigned>(lanes)));
    return b_.CreateFPExt(b_.CreateBitCast(x, half), type(DType::F32, lanes));
  }
  auto word = [&](int64_t bits) { return like(x, DType::I32, bits); };
  Value* wide = b_.CreateZExt(x, type(DType::I32, lanes));
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, word(0x8000)), word(16));
  Value* rest = b_.CreateAnd(wide, word(0x7fff));
  Value* normal = b_.CreateAdd(b_.CreateShl(rest, word(13)), word(int64_t{112} << 23));
  Value* special = b_.CreateOr(word(0x7f800000), b_.CreateShl(b_.CreateAnd(rest, word(0x3ff)), word(13)));
  Value* scaled = b_.CreateFMul(b_.CreateSIToFP(rest, type(DType::F32, lanes)),
                                b_.CreateBitCast(word(0x33800000), type(DType::F32, lanes)));  // 2^-24
  Value* u =
      b_.CreateSelect(b_.CreateICmpULT(rest, word(0x400)), b_.CreateBitCast(scaled, type(DType::I32, lanes)), normal);
  u = b_.CreateSelect(b_.CreateICmpUGE(rest, word(0x7c00)), special, u);
  return b_.CreateBitCast(b_.CreateOr(sign, u), type(DType::F32, lanes));
}

Value* ArithmeticEmitter::convert(Value* x, DType from, DType to) {
  if (from == to) return x;
  int lanes = lanes_of(x);
  if (from == DType::BF16) {
    Value* wide = b_.CreateShl(b_.CreateZExt(x, type(DType::I32, lanes)), like(x, DType::I32, 16));
    return convert(b_.CreateBitCast(wide, type(DType::F32, lanes)), DType::F32, to);
  }
  if (from == DType::F16) return convert(from_f16(x), DType::F32, to);
  if (to == DType::BF16) return to_bf16(convert(x, from, DType::F32));
  if (to == DType::F16) return to_f16(convert(x, from, DType::F32));
  llvm::Type* target = type(to, lanes);
  if (to == DType::Bool) return is_real(from) ? b_.CreateFCmpUNE(x, like(x, from, 0)) : b_.CreateIsNotNull(x);
  if (is_real(from) && is_real(to)) return to == DType::F64 ? b_.CreateFPExt(x, target) : b_.CreateFPTrunc(x, target);
  if (is_real(to)) {
    auto one = [&](Value* v, llvm::Type* t) { return is_signed(from) ? b_.CreateSIToFP(v, t) : b_.CreateUIToFP(v, t); };
    // A vector conversion from i64 might go through f64 and round twice.
    if (from == DType::I64 && to == DType::F32)
      return by_lane(target, {x}, [&](auto v) { return one(*v.begin(), type(to)); });
    return one(x, target);
  }
  if (is_real(from))
    return b_.CreateIntrinsic(is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                              {target, x->getType()}, {x});
  return is_signed(from) ? b_.CreateSExtOrTrunc(x, target) : b_.CreateZExtOrTrunc(x, target);
}

// On aarch64 a fused multiply-add overwrites its addend, so a constant addend would be copied to a fresh register by a
// vector operation each time. Vector operations are the bottleneck of such loops, loads are not: load the constant at
// each use. The load is volatile so that LLVM does not hoist it. All constants are in one table, whose address stays in
// a register.
Value* ArithmeticEmitter::addend(Value* c) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(c);
  if (!host_.aarch64 || !constant || !c->getType()->isVectorTy()) return c;
  auto [place, fresh] = places_.try_emplace(constant, table_bytes_);
  if (fresh) {
    addends_.push_back(constant);
    table_bytes_ += c->getType()->getPrimitiveSizeInBits() / 8;
  }
  return b_.CreateAlignedLoad(c->getType(), b_.CreateConstGEP1_64(b_.getInt8Ty(), table(), place->second),
                              llvm::Align(kVectorBytes), true);
}

// The address of the table in the function being emitted.
Value* ArithmeticEmitter::table() {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  Value*& address = tables_[function];
  if (address) return address;
  if (!table_)
    table_ = new llvm::GlobalVariable(*function->getParent(), b_.getInt8Ty(), true, llvm::GlobalValue::ExternalLinkage,
                                      nullptr, "addends");
  // Hides the address from LLVM, which would rematerialize a constant address at each use.
  auto* opaque =
      llvm::InlineAsm::get(llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy()}, false), "", "=r,0", false);
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(&function->getEntryBlock(), function->getEntryBlock().getFirstInsertionPt());
  return address = b_.CreateCall(opaque, {table_});
}

void ArithmeticEmitter::finish() {
  if (!table_) return;
  auto* all = llvm::ConstantStruct::getAnon(addends_, true);
  auto* memory =
      new llvm::GlobalVariable(*table_->getParent(), all->getType(), true, llvm::GlobalValue::PrivateLinkage, all);
  memory->setAlignment(llvm::Align(kVectorBytes));
  table_->replaceAllUsesWith(memory);
  table_->eraseFromParent();
}

// x << r | x >> 32 - r of vectors with shift-and-insert: half the time of LLVM's choice, shift-and-accumulate.
// Returns nullptr for anything else.
Value* ArithmeticEmitter::rotation(Value* left, Value* right) {
  using namespace llvm::PatternMatch;
  Value* x;
  const llvm::APInt *up, *down;
  if (!host_.aarch64 || left->getType() != type(DType::U32, 4)) return nullptr;
  if (!match(left, m_Shl(m_Value(x), m_APInt(up))) || !match(right, m_LShr(m_Specific(x), m_APInt(down))) ||
      *up + *down != 32 || *up == 0 || *down == 0)
    return nullptr;
  if (*up == 16) return nullptr;  // a permutation of halves
  return b_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_vsri, {left->getType()},
                            {left, x, b_.getInt32(static_cast<uint32_t>(down->getZExtValue()))});
}

Value* ArithmeticEmitter::apply(const loop::Inst& inst, Value* a, Value* b, Value* c) {
  DType d = inst.type;
  bool real = is_real(d);
  auto unary = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  switch (inst.op) {
    case Op::Add: return real ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case Op::Sub: return real ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
    case Op::Mul: return real ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case Op::Div: return real ? b_.CreateFDiv(a, b) : integer(inst.op, d, a, b);
    case Op::Fma:
      if (!real) return b_.CreateAdd(b_.CreateMul(a, b), c);
      if (host_.fma) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, addend(c)});
      return by_lane(a->getType(), {a, b, c}, [&](auto x) { return call_(d == DType::F32 ? kFmaF32 : kFmaF64, x); });
    case Op::Neg: return real ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case Op::Abs:
      if (real) return unary(llvm::Intrinsic::fabs);
      return is_signed(d) ? b_.CreateSelect(b_.CreateICmpSLT(a, like(a, d, 0)), b_.CreateNeg(a), a) : a;
    case Op::Min: return minimum(real, is_signed(d), a, b);
    case Op::Max: return maximum(real, is_signed(d), a, b);
    case Op::FloorDiv:
      return real ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(a, b)) : integer(inst.op, d, a, b);
    case Op::FloorMod: return real ? fmod(d, b_.CreateFAdd(fmod(d, a, b), b), b) : integer(inst.op, d, a, b);
    case Op::Rem: return real ? fmod(d, a, b) : integer(inst.op, d, a, b);
    case Op::Sqrt: return unary(llvm::Intrinsic::sqrt);
    case Op::Floor: return unary(llvm::Intrinsic::floor);
    case Op::Ceil: return unary(llvm::Intrinsic::ceil);
    case Op::Trunc: return unary(llvm::Intrinsic::trunc);
    case Op::Rint: return unary(llvm::Intrinsic::roundeven);
    case Op::Round: return unary(llvm::Intrinsic::round);
    case Op::And: return b_.CreateAnd(a, b);
    case Op::Or:
      if (Value* r = rotation(a, b)) return r;
      return b_.CreateOr(a, b);
    case Op::Xor: return b_.CreateXor(a, b);
    case Op::Not: return b_.CreateNot(a);
    case Op::Shl:
    case Op::Shr:
    case Op::Sar: return shift(inst.op, d, a, b);
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne: return compare(inst.op, inst.from, a, b);
    case Op::Select:
    case Op::Seldom: return select(a, b, c);
    case Op::Convert: return convert(a, inst.from, d);
    case Op::Bitcast: return b_.CreateBitCast(a, type(d, lanes_of(a)));
    default: break;
  }
  INVARIANT(false, "no code for " << scalar::name_of(inst.op));
  return nullptr;
}

Value* ArithmeticEmitter::identity(Combine c, DType d) {
  if (d == DType::U8) return constant(d, c == Combine::Sum || c == Combine::Max || c == Combine::ArgMax ? 0 : -1);
  if (c == Combine::Sum) return constant(d, 0);
  if (c == Combine::Prod) return is_real(d) ? llvm::ConstantFP::get(type(d), 1.0) : constant(d, 1);
  bool lowest = c == Combine::Max || c == Combine::ArgMax;
  if (is_real(d)) return llvm::ConstantFP::getInfinity(type(d), lowest);
  unsigned bits = static_cast<unsigned>(bits_of(d));
  llvm::APInt x = is_signed(d) ? (lowest ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits))
                               : (lowest ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits));
  return llvm::ConstantInt::get(b_.getContext(), x);
}

Value* ArithmeticEmitter::combine(Combine c, DType d, Value* a, Value* b) {
  bool real = is_real(d);
  if (d == DType::U8) return c == Combine::Sum || c == Combine::Max ? b_.CreateOr(a, b) : b_.CreateAnd(a, b);
  switch (c) {
    case Combine::Sum: return real ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case Combine::Prod: return real ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case Combine::Max: return maximum(real, is_signed(d), a, b);
    default: return minimum(real, is_signed(d), a, b);
  }
}

Value* ArithmeticEmitter::replaces(Combine c, DType d, Value* x, Value* best) {
  Value* better = compare(c == Combine::ArgMax ? Op::Gt : Op::Lt, d, x, best);
  if (!is_real(d)) return better;
  return b_.CreateOr(better, b_.CreateAnd(b_.CreateFCmpUNO(x, x), b_.CreateFCmpORD(best, best)));
}

Value* ArithmeticEmitter::ties(DType d, Value* x, Value* y) {
  if (!is_real(d)) return b_.CreateICmpEQ(x, y);
  return b_.CreateOr(b_.CreateFCmpOEQ(x, y), b_.CreateAnd(b_.CreateFCmpUNO(x, x), b_.CreateFCmpUNO(y, y)));
}

}  // namespace sheaf::codegen::native
