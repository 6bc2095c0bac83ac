// Emits statements: arithmetic, branches around unlikely values (Seldom), memory accesses, checks and calls.
#include <llvm/IR/MDBuilder.h>

#include <functional>

#include "codegen/llvm/emitter.h"
#include "loop/regions.h"
#include "scalar/scalar_ops.h"

namespace sheaf::codegen::native {

void Emitter::block(const Block& b) {
  for (const Stmt& s : b)
    switch (s.kind) {
      case Stmt::Let: let(s.value); break;
      case Stmt::Loop: loop(s); break;
      case Stmt::Reduce: reduce(s); break;
      case Stmt::Store: store(s); break;
      case Stmt::Check: check(s); break;
      case Stmt::Call: call(s); break;
    }
}

void Emitter::let(ValueId v) {
  if (fn_->values[v]) return;  // emitted in an outer scope
  const Inst& inst = k_.values[v];
  if (inst.op == Op::Const || inst.op == Op::Size || inst.op == Op::Index || inst.op == Op::Result) return;
  Val* arg[3] = {};
  bool all_uniform = true;
  int d = 0;
  for (int i = 0; i < scalar::num_operands(inst.op); ++i) {
    arg[i] = value(inst.args[i]);
    all_uniform &= arg[i]->kind == Val::Uniform;
    d = std::max(d, arg[i]->depth);
  }
  if (inst.op == Op::Load) return define(v, load(v, arg[0]));
  if (!all_uniform && is_axis_quotient(v)) return define(v, axis_quotient(arg[0], arg[1]));
  if (!all_uniform && inst.type == DType::I64)
    if (Val* x = affine(inst, arg)) return define(v, x);
  if (all_uniform) {
    At at(*this, d);
    return define(
        v, uniform(a_.apply(inst, arg[0]->scalar, arg[1] ? arg[1]->scalar : nullptr, arg[2] ? arg[2]->scalar : nullptr),
                   d));
  }
  Val out{Val::Varying, d};
  Values x[3];
  for (int i = 0; i < 3; ++i)
    x[i] = arg[i] ? pieces(arg[i]) : Values(static_cast<size_t>(num_pieces()), nullptr);
  if (inst.op == Op::Seldom && d == depth())
    return define(v, make({Val::Varying, d, nullptr, nullptr, nullptr, seldom(v, x), {}}));
  At at(*this, d);
  for (int p = 0; p < num_pieces(); ++p) {
    size_t q = static_cast<size_t>(p);
    out.pieces.push_back(a_.apply(inst, x[0][q], x[1][q], x[2][q]));
  }
  define(v, make(std::move(out)));
}

// The values that are needed only for the first choice of this Seldom.
std::vector<bool> Emitter::only_for_choice(ValueId seldom) const {
  std::vector<bool> mine(k_.values.size(), false), others(k_.values.size(), false);
  std::function<void(const Block&)> statements = [&](const Block& block) {
    for (const Stmt& s : block) {
      for (ValueId v : {s.kind == Stmt::Let ? loop::kNoValue : s.value, s.extent, s.offset})
        if (v != loop::kNoValue) others[v] = true;
      for (ValueId v : s.arguments)
        others[v] = true;
      statements(s.body);
    }
  };
  statements(k_.body);
  // In reverse order: operands have smaller numbers than their users.
  for (ValueId v = static_cast<ValueId>(k_.values.size()); v-- > 0;)
    for (int i = 0; i < scalar::num_operands(k_.values[v].op); ++i)
      ((v == seldom ? i == 1 : mine[v] && !others[v]) ? mine : others)[k_.values[v].args[i]] = true;
  for (size_t v = 0; v < mine.size(); ++v)
    mine[v] = mine[v] && !others[v];
  return mine;
}

// Emits a branch around code that is seldom needed, one for all pieces of a step: a branch for each piece would prevent
// interleaving their instructions, and each piece would wait for its own latencies.
Values Emitter::seldom(ValueId v, const Values (&x)[3]) {
  std::vector<bool> mine = only_for_choice(v);
  std::set<Value*> kept(x[0].begin(), x[0].end());
  kept.insert(x[2].begin(), x[2].end());
  // Values already computed stay available to later users, except the elements of values needed only here.
  std::function<void(const Val*, bool)> keep = [&](const Val* known, bool elements) {
    if (!known) return;
    if (elements) kept.insert(known->pieces.begin(), known->pieces.end());
    for (auto& [lanes, splat] : known->splats)
      kept.insert(splat);
    keep(known->base, true);
    keep(known->stride, true);
  };
  for (size_t u = 0; u < mine.size(); ++u)
    keep(fn_->values[u], !mine[u]);
  for (const auto* all : {&fn_->index, &fn_->result, &fn_->sizes})
    for (const Val* known : *all)
      keep(known, true);
  Value* any = x[0][0];
  for (size_t p = 1; p < x[0].size(); ++p)
    any = b_.CreateOr(any, x[0][p]);
  if (any->getType()->isVectorTy()) any = b_.CreateOrReduce(any);
  BasicBlock *from = b_.GetInsertBlock(), *then = new_block("seldom"), *join = new_block("join");
  b_.CreateCondBr(any, then, join, llvm::MDBuilder(c_).createUnlikelyBranchWeights());
  b_.SetInsertPoint(then);
  Values some;
  for (size_t p = 0; p < x[0].size(); ++p)
    some.push_back(a_.apply(k_.values[v], x[0][p], x[1][p], x[2][p]));
  b_.CreateBr(join);
  // From the last instruction to the first: sinks those that are used only in the branch.
  for (auto i = from->rbegin(); i != from->rend();) {
    llvm::Instruction& here = *i++;
    bool only =
        !here.use_empty() && !here.mayReadOrWriteMemory() && !llvm::isa<llvm::PHINode>(here) && !kept.count(&here);
    for (llvm::User* u : here.users())
      only &= llvm::cast<llvm::Instruction>(u)->getParent() == then;
    if (only) here.moveBefore(*then, then->begin());
  }
  b_.SetInsertPoint(join);
  Values out;
  for (size_t p = 0; p < some.size(); ++p) {
    llvm::PHINode* phi = b_.CreatePHI(some[p]->getType(), 2);
    phi->addIncoming(x[2][p], from);
    phi->addIncoming(some[p], then);
    out.push_back(phi);
  }
  return out;
}

// Keeps i64 sums and products of affine and uniform values affine; nullptr if the result is not affine.
Val* Emitter::affine(const Inst& inst, Val* const* arg) {
  auto base = [&](Val* v) { return v->kind == Val::Affine ? v->base : v; };
  auto stride = [&](Val* v) { return v->kind == Val::Affine ? v->stride : constant(0); };
  for (int i = 0; i < 2; ++i)
    if (arg[i] && arg[i]->kind == Val::Varying) return nullptr;
  Val out{Val::Affine, 0};
  if (inst.op == Op::Neg) {
    out.base = uniform(Op::Sub, constant(0), base(arg[0]));
    out.stride = uniform(Op::Sub, constant(0), stride(arg[0]));
  } else if (inst.op == Op::Add || inst.op == Op::Sub) {
    out.base = uniform(inst.op, base(arg[0]), base(arg[1]));
    out.stride = uniform(inst.op, stride(arg[0]), stride(arg[1]));
  } else if (inst.op == Op::Mul && (arg[0]->kind == Val::Uniform || arg[1]->kind == Val::Uniform)) {
    Val* by = arg[0]->kind == Val::Uniform ? arg[0] : arg[1];
    Val* x = by == arg[0] ? arg[1] : arg[0];
    out.base = uniform(Op::Mul, base(x), by);
    out.stride = uniform(Op::Mul, stride(x), by);
  } else {
    return nullptr;
  }
  out.depth = std::max({step_->depth, out.base->depth, out.stride->depth});
  return make(std::move(out));
}

// --- memory ---

// Calls f(address, piece, lane) for the elements at the offset: for whole pieces (lane -1) if they are contiguous, else
// for each element.
void Emitter::addresses(int64_t number, Val* offset, llvm::function_ref<void(Value*, int, int)> f) {
  llvm::Type* type = a_.memory_type(k_.buffers[static_cast<size_t>(number)].dtype);
  Value* memory = buffer(number);
  if (offset->kind == Val::Varying) {
    for (int p = 0; p < num_pieces(); ++p)
      for (int l = 0; l < num_lanes(); ++l) {
        Value* i = offset->pieces[static_cast<size_t>(p)];
        if (num_lanes() > 1) i = b_.CreateExtractElement(i, static_cast<uint64_t>(l));
        f(element(type, memory, i), p, num_lanes() > 1 ? l : -1);
      }
    return;
  }
  Value* base = [&] {
    At at(*this, offset->base->depth);
    return element(type, memory, offset->base->scalar);
  }();
  if (is_constant(offset->stride, 1) || num_lanes() * num_pieces() == 1) {
    Value* first = b_.CreateMul(step_->first, offset->stride->scalar);
    Value* at = element(type, base, is_constant(offset->stride, 1) ? step_->first : first);
    for (int p = 0; p < num_pieces(); ++p)
      f(element(type, at, i64(p * num_lanes())), p, -1);
    return;
  }
  Value* at = element(type, base, b_.CreateMul(step_->first, offset->stride->scalar));
  for (int p = 0; p < num_pieces(); ++p)
    for (int l = 0; l < num_lanes(); ++l) {
      f(at, p, num_lanes() > 1 ? l : -1);
      at = element(type, at, offset->stride->scalar);
    }
}

// Emits prefetches for a reduction's first load from a buffer: with a single stream, the hardware prefetcher reaches
// only half to four fifths of the memory bandwidth.
void Emitter::ask_early(int64_t number, Value* address) {
  constexpr int64_t kAhead = 16 << 10, kLine = 64;
  constexpr int kRead = 0, kToSecondLevel = 2, kData = 1;
  if (!asked_elements_ || !asked_for_.insert(number).second) return;
  int64_t bytes = asked_elements_ * size_bytes(k_.buffers[static_cast<size_t>(number)].dtype);
  for (int64_t at = 0; at < bytes; at += kLine)
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {element(b_.getInt8Ty(), address, i64(kAhead + at)), b_.getInt32(kRead),
                        b_.getInt32(kToSecondLevel), b_.getInt32(kData)});
}

Val* Emitter::load(ValueId v, Val* offset) {
  const Inst& inst = k_.values[v];
  DType d = inst.type;
  llvm::Align align(static_cast<uint64_t>(size_bytes(d)));
  auto in_register = [&](Value* x) { return d == DType::Bool ? b_.CreateIsNotNull(x) : x; };
  if (offset->kind == Val::Affine && is_constant(offset->stride, 0)) offset = offset->base;
  int where = depth();
  if (int outer = fn_->scopes.back().loads; outer >= 0 && offset->depth <= outer) where = outer;
  At at(*this, where);
  if (offset->kind == Val::Uniform) {
    Value* address = element(a_.memory_type(d), buffer(inst.imm), offset->scalar);
    return uniform(in_register(b_.CreateAlignedLoad(a_.memory_type(d), address, align)), where);
  }
  Val out{Val::Varying, where};
  if (is_end_to_end(inst.args[0], offset)) {
    out.pieces = load_end_to_end(v, offset);
  } else {
    out.pieces.assign(static_cast<size_t>(num_pieces()), llvm::PoisonValue::get(a_.memory_type(d, num_lanes())));
    addresses(inst.imm, offset, [&](Value* address, int p, int l) {
      Value*& x = out.pieces[static_cast<size_t>(p)];
      if (l < 0 && p == 0) ask_early(inst.imm, address);
      Value* loaded = b_.CreateAlignedLoad(a_.memory_type(d, l < 0 ? num_lanes() : 1), address, align);
      x = l < 0 ? loaded : b_.CreateInsertElement(x, loaded, static_cast<uint64_t>(l));
    });
  }
  for (Value*& x : out.pieces)
    x = in_register(x);
  return make(std::move(out));
}

void Emitter::store(const Stmt& s) {
  DType d = k_.buffers[static_cast<size_t>(s.id)].dtype;
  llvm::Align align(static_cast<uint64_t>(size_bytes(d)));
  Val *offset = value(s.offset), *v = value(s.value);
  auto in_memory = [&](Value* x, int lanes) {
    return d == DType::Bool ? b_.CreateZExt(x, a_.memory_type(d, lanes)) : x;
  };
  if (offset->kind == Val::Uniform) {
    // All iterations store to one address: the last one wins.
    Value* x = v->kind == Val::Uniform ? v->scalar : pieces(v).back();
    if (v->kind != Val::Uniform && num_lanes() > 1)
      x = b_.CreateExtractElement(x, static_cast<uint64_t>(num_lanes() - 1));
    b_.CreateAlignedStore(in_memory(x, 1), element(a_.memory_type(d), buffer(s.id), offset->scalar), align);
    return;
  }
  Values x = pieces(v);
  for (Value*& p : x)
    p = in_memory(p, num_lanes());
  if (is_end_to_end(s.offset, offset)) return store_end_to_end(s, offset, x);
  if (offset->kind == Val::Affine && is_constant(offset->stride, 1)) {
    Values to;
    addresses(s.id, offset, [&](Value* address, int, int) { to.push_back(address); });
    if (Value* bypass = should_bypass(s, offset, to[0])) return store_or_bypass(bypass, x, to, align);
    for (size_t p = 0; p < x.size(); ++p)
      b_.CreateAlignedStore(x[p], to[p], align);
    return;
  }
  addresses(s.id, offset, [&](Value* address, int p, int l) {
    Value* whole = x[static_cast<size_t>(p)];
    b_.CreateAlignedStore(l < 0 ? whole : b_.CreateExtractElement(whole, static_cast<uint64_t>(l)), address, align);
  });
}

// --- checks and calls ---

void Emitter::check(const Stmt& s) {
  Val *condition = value(s.value), *payload = value(s.offset);
  if (!step_) {
    If f = open_if(b_.CreateNot(condition->scalar));
    service(kFail, b_.getVoidTy(), {i64(s.id), payload->scalar}, true);
    close_if(f);
    return;
  }
  int count = condition->kind == Val::Uniform ? 1 : num_pieces() * num_lanes();
  Values ok = count == 1 ? Values{condition->kind == Val::Uniform ? condition->scalar : piece(condition, 0)}
                         : pieces(condition);
  Values what = pieces(payload);
  Value* all = ok[0];
  for (size_t p = 1; p < ok.size(); ++p)
    all = b_.CreateAnd(all, ok[p]);
  if (all->getType()->isVectorTy()) all = b_.CreateAndReduce(all);
  Value* flags = stack_array(b_.getInt8Ty(), count);
  Value* payloads = stack_array(b_.getInt64Ty(), num_pieces() * num_lanes());
  If f = open_if(b_.CreateNot(all));
  int lanes = count == 1 ? 1 : num_lanes();
  for (size_t p = 0; p < ok.size(); ++p)
    b_.CreateStore(b_.CreateZExt(ok[p], a_.type(DType::U8, lanes)),
                   element(b_.getInt8Ty(), flags, i64(static_cast<int64_t>(p) * lanes)));
  for (size_t p = 0; p < what.size(); ++p)
    b_.CreateStore(what[p], element(b_.getInt64Ty(), payloads, i64(static_cast<int64_t>(p) * num_lanes())));
  service(kFailLanes, b_.getVoidTy(), {step_->first, i64(count), flags, payloads, i64(s.id)}, true);
  close_if(f);
}

void Emitter::end_region(const Stmt& s) {
  if (loop::contains_check(s.body)) service(kEndRegion, b_.getVoidTy(), {}, true);
}

void Emitter::call(const Stmt& s) {
  Value* arguments = stack_array(b_.getInt64Ty(), static_cast<int64_t>(s.arguments.size()));
  for (size_t i = 0; i < s.arguments.size(); ++i)
    b_.CreateStore(value(s.arguments[i])->scalar, element(b_.getInt64Ty(), arguments, i64(static_cast<int64_t>(i))));
  service(kCall, b_.getVoidTy(), {i64(static_cast<int64_t>(calls_.size())), arguments}, true);
  calls_.push_back({s.routine, s.buffers, s.arguments.size()});
}

}  // namespace sheaf::codegen::native
