// What every kernel needs: functions, scopes and values; statements, memory, checks and calls; loops.
#include "codegen/llvm/emit.h"

#include <llvm/IR/MDBuilder.h>

#include <functional>
#include <map>
#include <set>

#include "codegen/llvm/emitter.h"
#include "loop/regions.h"
#include "loop/scalar_ops.h"
#include "support/error.h"

namespace sheaf::codegen::native {
namespace {

constexpr loop::WorkRates kRates{.element = 0.1, .elementary = 1.5, .start = 0.5, .scalar = 0.5, .call = 1000};
// A long body with much alive would keep its values in memory when many vectors go side by side.
constexpr int kPiecesOfWideBodies = 2;
constexpr int kLongBody = 150;  // in statements
constexpr int kMuchAlive = 16;  // values
// Iterations of a region that are worth a range of their own.
constexpr int64_t kMinRange = 256;

bool is_constant(const Val* v, int64_t x) {
  auto* c = v->kind == Val::Uniform ? llvm::dyn_cast<llvm::ConstantInt>(v->scalar) : nullptr;
  return c && c->getSExtValue() == x;
}

int statements(const Block& b) {
  int n = 0;
  for (const Stmt& s : b) n += 1 + statements(s.body);
  return n;
}

// How many values of the statements, constants aside, are needed at once; those of loops inside count as if they ran once.
int most_alive(const loop::Kernel& k, const Block& b) {
  std::map<ValueId, int> last;  // use
  std::vector<const Stmt*> in_order;
  std::function<void(const Block&)> number = [&](const Block& inner) {
    for (const Stmt& s : inner) {
      int at = static_cast<int>(in_order.size());
      in_order.push_back(&s);
      if (s.kind == Stmt::Let)
        for (ValueId arg : k.values[s.value].args) last[arg] = at;
      else for (ValueId arg : {s.value, s.offset}) last[arg] = at;
      number(s.body);
    }
  };
  number(b);
  std::map<int, int> ending;
  int alive = 0, most = 0;
  for (int at = 0; at < static_cast<int>(in_order.size()); ++at) {
    alive -= ending[at];
    const Stmt& s = *in_order[static_cast<size_t>(at)];
    if (s.kind != Stmt::Let || k.values[s.value].op == Op::Const) continue;
    auto use = last.find(s.value);
    if (use == last.end()) continue;
    most = std::max(most, ++alive);
    ++ending[use->second];
  }
  return most;
}

}  // namespace

std::vector<NativeObject::Call> emit_kernel(const loop::Kernel& kernel, const std::string& name, const Host& host, llvm::Module& module) {
  return Emitter(kernel, name, host, module).run();
}

Emitter::Emitter(const loop::Kernel& k, const std::string& name, const Host& host, llvm::Module& m)
    : k_(k), name_(name), host_(host), m_(m), c_(m.getContext()), b_(c_),
      a_(b_, host, [this](Service s, std::initializer_list<Value*> args) { return service(s, (*args.begin())->getType(), Values(args), false); }) {}

std::vector<NativeObject::Call> Emitter::run() {
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  Function f;
  begin(f, llvm::Function::Create(type, llvm::Function::ExternalLinkage, name_, m_));
  block(k_.body);
  b_.CreateRetVoid();
  a_.finish();
  return std::move(calls_);
}

// --- functions, scopes, loops ---

void Emitter::begin(Function& f, llvm::Function* code) {
  code->addFnAttr(llvm::Attribute::NoUnwind);
  code->setVisibility(code->hasLocalLinkage() ? llvm::GlobalValue::DefaultVisibility : llvm::GlobalValue::HiddenVisibility);
  f.code = code;
  f.context = code->getArg(0);
  f.values.assign(k_.values.size(), nullptr);
  f.index.assign(static_cast<size_t>(k_.num_axes), nullptr);
  f.result.assign(static_cast<size_t>(k_.num_reductions), nullptr);
  f.sizes.assign(static_cast<size_t>(k_.num_sizes), nullptr);
  f.buffers.assign(k_.buffers.size(), nullptr);
  f.entry = BasicBlock::Create(c_, "entry", code);
  BasicBlock* start = BasicBlock::Create(c_, "start", code);
  b_.SetInsertPoint(f.entry);
  f.scopes = {Scope{b_.CreateBr(start)}, Scope{}};
  b_.SetInsertPoint(start);
  fn_ = &f;
}

void Emitter::push_scope(llvm::Instruction* resume, BasicBlock* next, int loads) {
  fn_->scopes.back().resume = resume;
  fn_->scopes.push_back({nullptr, {}, loads});
  b_.SetInsertPoint(next);
}

void Emitter::pop_scope() {
  for (ValueId v : fn_->scopes.back().values) fn_->values[v] = nullptr;
  fn_->scopes.pop_back();
}

Loop Emitter::open(Value* begin, Value* end, int64_t step, Values initial, bool move_loads) {
  Loop l{b_.GetInsertBlock(), new_block("body"), new_block("exit"), nullptr, end, i64(step), {}, std::move(initial)};
  BasicBlock* pre = new_block("pre");
  push_scope(b_.CreateCondBr(b_.CreateICmpSLT(begin, end), pre, l.exit), pre, -1);
  int once = depth();
  push_scope(b_.CreateBr(l.body), l.body, move_loads ? once : -1);
  l.i = b_.CreatePHI(b_.getInt64Ty(), 2);
  l.i->addIncoming(begin, pre);
  for (Value* x : l.initial) {
    l.carried.push_back(b_.CreatePHI(x->getType(), 2));
    l.carried.back()->addIncoming(x, pre);
  }
  return l;
}

Values Emitter::close(Loop& l, const Values& next) {
  BasicBlock* latch = b_.GetInsertBlock();
  Value* i = b_.CreateAdd(l.i, l.step);
  b_.CreateCondBr(b_.CreateICmpSLT(i, l.end), l.body, l.exit);
  l.i->addIncoming(i, latch);
  pop_scope();
  pop_scope();
  b_.SetInsertPoint(l.exit);
  Values out;
  for (size_t n = 0; n < next.size(); ++n) {
    l.carried[n]->addIncoming(next[n], latch);
    llvm::PHINode* phi = b_.CreatePHI(next[n]->getType(), 2);
    phi->addIncoming(l.initial[n], l.guard);
    phi->addIncoming(next[n], latch);
    out.push_back(phi);
  }
  return out;
}

If Emitter::open_if(Value* condition) {
  If f{b_.GetInsertBlock(), new_block("join")};
  BasicBlock* then = new_block("then");
  push_scope(b_.CreateCondBr(condition, then, f.join), then, -1);
  return f;
}

Value* Emitter::close_if(If& f, Value* then, Value* otherwise) {
  BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(f.join);
  pop_scope();
  b_.SetInsertPoint(f.join);
  if (!then) return nullptr;
  llvm::PHINode* phi = b_.CreatePHI(then->getType(), 2);
  phi->addIncoming(then, end);
  phi->addIncoming(otherwise, f.from);
  return phi;
}

Value* Emitter::stack_array(llvm::Type* type, int64_t n) {
  At at(*this, 0);
  auto* a = b_.CreateAlloca(type, i64(n));
  a->setAlignment(llvm::Align(64));
  return a;
}

// --- services ---

Value* Emitter::service(Service s, llvm::Type* result, const Values& args, bool with_context) {
  std::vector<llvm::Type*> types;
  Values all;
  if (with_context) all.push_back(fn_->context);
  all.insert(all.end(), args.begin(), args.end());
  for (Value* a : all) types.push_back(a->getType());
  Value* code = b_.CreateLoad(b_.getPtrTy(), element(b_.getPtrTy(), context_field(0, b_.getPtrTy()), i64(s)));
  auto* call = b_.CreateCall(llvm::FunctionType::get(result, types, false), code, all);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  return call;
}

// --- values ---

Val* Emitter::make(Val v) {
  vals_.push_back(std::move(v));
  return &vals_.back();
}

void Emitter::define(ValueId v, Val* x) {
  fn_->values[v] = x;
  fn_->scopes[static_cast<size_t>(x->depth)].values.push_back(v);
}

Val* Emitter::value(ValueId v) {
  const Inst& inst = k_.values[v];
  if (inst.op == Op::Const) return uniform(a_.constant(inst.type, inst.imm), 0);
  if (inst.op == Op::Size) return size(inst.imm);
  Val*& known = inst.op == Op::Index ? fn_->index[static_cast<size_t>(inst.imm)] : inst.op == Op::Result ? fn_->result[static_cast<size_t>(inst.imm)] : fn_->values[v];
  if (!known) {
    INVARIANT(fn_->parent, "a value is not known in " << k_.name);
    known = capture(v);
  }
  return known;
}

Val* Emitter::size(int64_t i) {
  Val*& known = fn_->sizes[static_cast<size_t>(i)];
  if (!known) {
    At at(*this, 0);
    known = uniform(b_.CreateLoad(b_.getInt64Ty(), element(b_.getInt64Ty(), context_field(2, b_.getPtrTy()), i64(i))), 0);
  }
  return known;
}

Value* Emitter::buffer(int64_t i) {
  Value*& known = fn_->buffers[static_cast<size_t>(i)];
  if (!known) {
    At at(*this, 0);
    known = b_.CreateLoad(b_.getPtrTy(), element(b_.getPtrTy(), context_field(1, b_.getPtrTy()), i64(i)));
  }
  return known;
}

Val* Emitter::capture(ValueId v) {
  Function* inner = fn_;
  fn_ = inner->parent;
  Value* outer = value(v)->scalar;
  fn_ = inner;
  return uniform(capture(outer), 0);
}

Value* Emitter::capture(Value* outer) {
  At at(*this, 0);
  Value* slot = element(b_.getInt64Ty(), fn_->captures, i64(static_cast<int64_t>(fn_->captured.size())));
  fn_->captured.push_back(outer);
  return b_.CreateLoad(outer->getType(), slot);
}

Val* Emitter::uniform(Op op, Val* x, Val* y) {
  if (op == Op::Mul && (is_constant(x, 0) || is_constant(y, 0))) return constant(0);
  if (op == Op::Mul && is_constant(x, 1)) return y;
  if (op == Op::Mul && is_constant(y, 1)) return x;
  if (op == Op::Add && is_constant(x, 0)) return y;
  if ((op == Op::Add || op == Op::Sub) && is_constant(y, 0)) return x;
  int d = std::max(x->depth, y->depth);
  At at(*this, d);
  return uniform(a_.apply({op, DType::I64, DType::I64}, x->scalar, y->scalar, nullptr), d);
}

Value* Emitter::piece(Val* v, int p) {
  if (v->kind == Val::Varying) return v->pieces[static_cast<size_t>(p)];
  if (v->kind == Val::Uniform) {
    Value*& s = v->splats[num_lanes()];
    if (!s) {
      At at(*this, v->depth);
      s = a_.splat(v->scalar, num_lanes());
    }
    return s;
  }
  if (v->pieces.empty()) {
    At at(*this, v->depth);
    for (int q = 0; q < step_->pieces; ++q) {
      Value* first = b_.CreateAdd(step_->first, i64(q * step_->lanes));
      Value* x = b_.CreateAdd(v->base->scalar, b_.CreateMul(first, v->stride->scalar));
      if (step_->lanes > 1) {
        llvm::SmallVector<llvm::Constant*, 16> numbers;
        for (int l = 0; l < step_->lanes; ++l) numbers.push_back(llvm::cast<llvm::Constant>(i64(l)));
        Value* ramp = llvm::ConstantVector::get(numbers);
        if (!is_constant(v->stride, 1)) ramp = b_.CreateMul(ramp, a_.splat(v->stride->scalar, step_->lanes));
        x = b_.CreateAdd(a_.splat(x, step_->lanes), ramp);
      }
      v->pieces.push_back(x);
    }
  }
  return v->pieces[static_cast<size_t>(p)];
}

Values Emitter::pieces(Val* v) {
  Values out;
  for (int p = 0; p < num_pieces(); ++p) out.push_back(piece(v, p));
  return out;
}

// --- statements ---

void Emitter::block(const Block& b) {
  for (const Stmt& s : b) switch (s.kind) {
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
  for (int i = 0; i < loop::scalar::num_operands(inst.op); ++i) {
    arg[i] = value(inst.args[i]);
    all_uniform &= arg[i]->kind == Val::Uniform;
    d = std::max(d, arg[i]->depth);
  }
  if (inst.op == Op::Load) return define(v, load(inst, arg[0]));
  if (!all_uniform && inst.type == DType::I64)
    if (Val* x = affine(inst, arg)) return define(v, x);
  if (all_uniform) {
    At at(*this, d);
    return define(v, uniform(a_.apply(inst, arg[0]->scalar, arg[1] ? arg[1]->scalar : nullptr, arg[2] ? arg[2]->scalar : nullptr), d));
  }
  Val out{Val::Varying, d};
  Values x[3];
  for (int i = 0; i < 3; ++i) x[i] = arg[i] ? pieces(arg[i]) : Values(static_cast<size_t>(num_pieces()), nullptr);
  if (inst.op == Op::Seldom && d == depth()) return define(v, make({Val::Varying, d, nullptr, nullptr, nullptr, seldom(v, x), {}}));
  At at(*this, d);
  for (int p = 0; p < num_pieces(); ++p) {
    size_t q = static_cast<size_t>(p);
    out.pieces.push_back(a_.apply(inst, x[0][q], x[1][q], x[2][q]));
  }
  define(v, make(std::move(out)));
}

// Values that nothing but the first choice of this Seldom needs.
std::vector<bool> Emitter::only_for_choice(ValueId seldom) const {
  std::vector<bool> mine(k_.values.size(), false), others(k_.values.size(), false);
  std::function<void(const Block&)> statements = [&](const Block& block) {
    for (const Stmt& s : block) {
      for (ValueId v : {s.kind == Stmt::Let ? loop::kNoValue : s.value, s.extent, s.offset})
        if (v != loop::kNoValue) others[v] = true;
      for (ValueId v : s.arguments) others[v] = true;
      statements(s.body);
    }
  };
  statements(k_.body);
  // Arguments come before what uses them.
  for (ValueId v = static_cast<ValueId>(k_.values.size()); v-- > 0;)
    for (int i = 0; i < loop::scalar::num_operands(k_.values[v].op); ++i)
      ((v == seldom ? i == 1 : mine[v] && !others[v]) ? mine : others)[k_.values[v].args[i]] = true;
  for (size_t v = 0; v < mine.size(); ++v) mine[v] = mine[v] && !others[v];
  return mine;
}

// A branch around what is seldom needed, for all pieces of a step at once: one for each would take their work apart, and pieces would wait for themselves.
Values Emitter::seldom(ValueId v, const Values (&x)[3]) {
  std::vector<bool> mine = only_for_choice(v);
  std::set<Value*> kept(x[0].begin(), x[0].end());
  kept.insert(x[2].begin(), x[2].end());
  // What is known stays for whoever asks next, but for the elements of values that are only for this.
  std::function<void(const Val*, bool)> keep = [&](const Val* known, bool elements) {
    if (!known) return;
    if (elements) kept.insert(known->pieces.begin(), known->pieces.end());
    for (auto& [lanes, splat] : known->splats) kept.insert(splat);
    keep(known->base, true);
    keep(known->stride, true);
  };
  for (size_t u = 0; u < mine.size(); ++u) keep(fn_->values[u], !mine[u]);
  for (const auto* all : {&fn_->index, &fn_->result, &fn_->sizes})
    for (const Val* known : *all) keep(known, true);
  Value* any = x[0][0];
  for (size_t p = 1; p < x[0].size(); ++p) any = b_.CreateOr(any, x[0][p]);
  if (any->getType()->isVectorTy()) any = b_.CreateOrReduce(any);
  BasicBlock *from = b_.GetInsertBlock(), *then = new_block("seldom"), *join = new_block("join");
  b_.CreateCondBr(any, then, join, llvm::MDBuilder(c_).createUnlikelyBranchWeights());
  b_.SetInsertPoint(then);
  Values some;
  for (size_t p = 0; p < x[0].size(); ++p) some.push_back(a_.apply(k_.values[v], x[0][p], x[1][p], x[2][p]));
  b_.CreateBr(join);
  // From the last to the first: what only instructions there use goes there.
  for (auto i = from->rbegin(); i != from->rend();) {
    llvm::Instruction& here = *i++;
    bool only = !here.use_empty() && !here.mayReadOrWriteMemory() && !llvm::isa<llvm::PHINode>(here) && !kept.count(&here);
    for (llvm::User* u : here.users()) only &= llvm::cast<llvm::Instruction>(u)->getParent() == then;
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

// i64 sums and products of affine and uniform values stay affine.
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

// Calls f(address, piece, lane) for what the offset names: whole pieces (lane -1) where they are consecutive, else
// element by element.
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
    for (int p = 0; p < num_pieces(); ++p) f(element(type, at, i64(p * num_lanes())), p, -1);
    return;
  }
  Value* at = element(type, base, b_.CreateMul(step_->first, offset->stride->scalar));
  for (int p = 0; p < num_pieces(); ++p)
    for (int l = 0; l < num_lanes(); ++l) {
      f(at, p, num_lanes() > 1 ? l : -1);
      at = element(type, at, offset->stride->scalar);
    }
}

Val* Emitter::load(const Inst& inst, Val* offset) {
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
  out.pieces.assign(static_cast<size_t>(num_pieces()), llvm::PoisonValue::get(a_.memory_type(d, num_lanes())));
  addresses(inst.imm, offset, [&](Value* address, int p, int l) {
    Value*& x = out.pieces[static_cast<size_t>(p)];
    Value* loaded = b_.CreateAlignedLoad(a_.memory_type(d, l < 0 ? num_lanes() : 1), address, align);
    x = l < 0 ? loaded : b_.CreateInsertElement(x, loaded, static_cast<uint64_t>(l));
  });
  for (Value*& x : out.pieces) x = in_register(x);
  return make(std::move(out));
}

void Emitter::store(const Stmt& s) {
  DType d = k_.buffers[static_cast<size_t>(s.id)].dtype;
  llvm::Align align(static_cast<uint64_t>(size_bytes(d)));
  Val *offset = value(s.offset), *v = value(s.value);
  auto in_memory = [&](Value* x, int lanes) { return d == DType::Bool ? b_.CreateZExt(x, a_.memory_type(d, lanes)) : x; };
  if (offset->kind == Val::Uniform) {
    // The last of the iterations stays.
    Value* x = v->kind == Val::Uniform ? v->scalar : pieces(v).back();
    if (v->kind != Val::Uniform && num_lanes() > 1) x = b_.CreateExtractElement(x, static_cast<uint64_t>(num_lanes() - 1));
    b_.CreateAlignedStore(in_memory(x, 1), element(a_.memory_type(d), buffer(s.id), offset->scalar), align);
    return;
  }
  Values x = pieces(v);
  for (Value*& p : x) p = in_memory(p, num_lanes());
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
  Values ok = count == 1 ? Values{condition->kind == Val::Uniform ? condition->scalar : piece(condition, 0)} : pieces(condition);
  Values what = pieces(payload);
  Value* all = ok[0];
  for (size_t p = 1; p < ok.size(); ++p) all = b_.CreateAnd(all, ok[p]);
  if (all->getType()->isVectorTy()) all = b_.CreateAndReduce(all);
  Value* flags = stack_array(b_.getInt8Ty(), count);
  Value* payloads = stack_array(b_.getInt64Ty(), num_pieces() * num_lanes());
  If f = open_if(b_.CreateNot(all));
  int lanes = count == 1 ? 1 : num_lanes();
  for (size_t p = 0; p < ok.size(); ++p)
    b_.CreateStore(b_.CreateZExt(ok[p], a_.type(DType::U8, lanes)), element(b_.getInt8Ty(), flags, i64(static_cast<int64_t>(p) * lanes)));
  for (size_t p = 0; p < what.size(); ++p) b_.CreateStore(what[p], element(b_.getInt64Ty(), payloads, i64(static_cast<int64_t>(p) * num_lanes())));
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

// --- loops ---

void Emitter::loop(const Stmt& s) {
  bool region = !step_ && loop::is_region(k_, s);
  // Iterations of a region are independent, so a large one outside of all loops may use the threads too.
  if (!step_ && !fn_->parent && (s.mark == loop::Mark::Parallel || (region && depth() == 1))) return outlined(s, region);
  Val* zero = constant(0);
  if (region) region_loop(s, zero, value(s.extent));
  else serial_loop(s, zero->scalar, value(s.extent)->scalar);
}

void Emitter::serial_loop(const Stmt& s, Value* begin, Value* end) {
  Loop l = open(begin, end, 1, {}, !loop::contains_store(s.body));
  fn_->index[static_cast<size_t>(s.axis)] = uniform(l.i, depth());
  block(s.body);
  close(l);
}

int Emitter::pieces_of(const Stmt& s) const {
  return statements(s.body) > kLongBody && most_alive(k_, s.body) > kMuchAlive ? kPiecesOfWideBodies : kPieces;
}

void Emitter::region_loop(const Stmt& s, Val* begin, Val* end) {
  if (reduces_columns(s)) columns(s, begin, end);
  else steps(s, begin, end, pieces_of(s), !loop::contains_store(s.body), [&] { block(s.body); });
  end_region(s);
}

void Emitter::steps(const Stmt& s, Val* begin, Val* end, int pieces, bool move_loads, llvm::function_ref<void()> body) {
  Val* n = uniform(Op::Max, uniform(Op::Sub, end, begin), constant(0));
  Val* at = begin;
  auto part = [&](int count, int lanes) {
    Val* stop = uniform(Op::Add, begin, uniform(Op::And, n, constant(-int64_t{count} * lanes)));
    Loop l = open(at->scalar, stop->scalar, int64_t{count} * lanes, {}, move_loads);
    Step st{count, lanes, l.i, depth()};
    step_ = &st;
    fn_->index[static_cast<size_t>(s.axis)] = make({Val::Affine, depth(), nullptr, constant(0), constant(1)});
    body();
    step_ = nullptr;
    close(l);
    at = stop;
  };
  if (pieces > 1) part(pieces, host_.lanes);
  part(1, host_.lanes);
  part(1, 1);
}

void Emitter::outlined(const Stmt& s, bool region) {
  Value* minimum = !region ? i64(1) : reduces_columns(s) ? column_range(s) : i64(kMinRange);
  fork(value(s.extent)->scalar, minimum, work(s, region), [&](Value* first, Value* last) {
    if (region) region_loop(s, uniform(first, 0), uniform(last, 0));
    else serial_loop(s, first, last);
  });
}

void Emitter::fork(Value* n, Value* minimum, Value* ns, llvm::function_ref<void(Value*, Value*)> body) {
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
  Function* outer = fn_;
  Function f;
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin(f, llvm::Function::Create(type, llvm::Function::InternalLinkage, name_ + "_range", m_));
    f.captures = f.code->getArg(1);
    f.parent = outer;
    body(f.code->getArg(2), f.code->getArg(3));
    b_.CreateRetVoid();
    fn_ = outer;
  }
  Value* captures = stack_array(b_.getInt64Ty(), std::max<int64_t>(1, static_cast<int64_t>(f.captured.size())));
  for (size_t i = 0; i < f.captured.size(); ++i) b_.CreateStore(f.captured[i], element(b_.getInt64Ty(), captures, i64(static_cast<int64_t>(i))));
  service(kParallel, b_.getVoidTy(), {f.code, captures, n, minimum, ns}, true);
}

Value* Emitter::work(const Stmt& s, bool region) {
  Value* ns = llvm::ConstantFP::get(b_.getDoubleTy(), 0.0);
  for (const loop::WorkTerm& t : loop::work_of(k_, s, region, kRates)) {
    Value* x = llvm::ConstantFP::get(b_.getDoubleTy(), t.ns);
    for (ValueId e : t.extents) x = b_.CreateFMul(x, b_.CreateSIToFP(value(e)->scalar, b_.getDoubleTy()));
    ns = b_.CreateFAdd(ns, x);
  }
  return ns;
}

}  // namespace sheaf::codegen::native
