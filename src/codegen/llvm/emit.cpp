// Functions, scopes, values and loops: the parts of the emitter that every kernel uses.
#include "codegen/llvm/emit.h"

#include <functional>
#include <map>

#include "codegen/llvm/emitter.h"
#include "loop/regions.h"
#include "support/error.h"

namespace sheaf::codegen::native {
namespace {

constexpr loop::WorkRates kRates{.element = 0.1, .elementary = 1.5, .start = 0.5, .scalar = 0.5, .call = 1000};
// A long body with many live values would spill if it were unrolled to kPieces vectors.
constexpr int kPiecesOfWideBodies = 2;
constexpr int kLongBody = 150;  // in statements
constexpr int kMuchAlive = 16;  // live values

int statements(const Block& b) {
  int n = 0;
  for (const Stmt& s : b)
    n += 1 + statements(s.body);
  return n;
}

// The maximum number of simultaneously live values of the statements, without constants; inner loops count as if they
// ran once.
int most_alive(const loop::Kernel& k, const Block& b) {
  std::map<ValueId, int> last;  // use
  std::vector<const Stmt*> in_order;
  std::function<void(const Block&)> number = [&](const Block& inner) {
    for (const Stmt& s : inner) {
      int at = static_cast<int>(in_order.size());
      in_order.push_back(&s);
      if (s.kind == Stmt::Let)
        for (ValueId arg : k.values[s.value].args)
          last[arg] = at;
      else
        for (ValueId arg : {s.value, s.offset})
          last[arg] = at;
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

std::vector<NativeObject::Call> emit_kernel(const loop::Kernel& kernel, const std::string& name, const EmitTarget& host,
                                            llvm::Module& module) {
  return Emitter(kernel, name, host, module).run();
}

Emitter::Emitter(const loop::Kernel& k, const std::string& name, const EmitTarget& host, llvm::Module& m)
    : k_(k),
      name_(name),
      host_(host),
      m_(m),
      c_(m.getContext()),
      b_(c_),
      a_(b_, host, [this](Service s, std::initializer_list<Value*> args) {
        return service(s, (*args.begin())->getType(), Values(args), false);
      }) {}

std::vector<NativeObject::Call> Emitter::run() {
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  Function f;
  begin(f, llvm::Function::Create(type, llvm::Function::ExternalLinkage, name_, m_));
  block(k_.body);
  finish_bypassing();
  b_.CreateRetVoid();
  a_.finish();
  return std::move(calls_);
}

// --- functions, scopes, loops ---

void Emitter::begin(Function& f, llvm::Function* code) {
  code->addFnAttr(llvm::Attribute::NoUnwind);
  code->setVisibility(code->hasLocalLinkage() ? llvm::GlobalValue::DefaultVisibility
                                              : llvm::GlobalValue::HiddenVisibility);
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
  for (ValueId v : fn_->scopes.back().values)
    fn_->values[v] = nullptr;
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
  for (Value* a : all)
    types.push_back(a->getType());
  Value* code = b_.CreateLoad(b_.getPtrTy(), element(b_.getPtrTy(), context_field(0, b_.getPtrTy()), i64(s)));
  auto* call = b_.CreateCall(llvm::FunctionType::get(result, types, false), code, all);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  // A service without the context is pure arithmetic and may be moved to its uses (see seldom()).
  if (!with_context) call->setDoesNotAccessMemory();
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
  Val*& known = inst.op == Op::Index    ? fn_->index[static_cast<size_t>(inst.imm)]
                : inst.op == Op::Result ? fn_->result[static_cast<size_t>(inst.imm)]
                                        : fn_->values[v];
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
    known =
        uniform(b_.CreateLoad(b_.getInt64Ty(), element(b_.getInt64Ty(), context_field(2, b_.getPtrTy()), i64(i))), 0);
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
        for (int l = 0; l < step_->lanes; ++l)
          numbers.push_back(llvm::cast<llvm::Constant>(i64(l)));
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
  for (int p = 0; p < num_pieces(); ++p)
    out.push_back(piece(v, p));
  return out;
}

// --- loops ---

void Emitter::loop(const Stmt& s) {
  if (!step_ && walks_short_rows(s)) return short_rows(s);
  if (row_length_) return each_element(s, [](Value*) {});
  nest_.push_back(&s);
  any_loop(s);
  nest_.pop_back();
}

void Emitter::any_loop(const Stmt& s) {
  bool region = !step_ && loop::is_region(k_, s);
  // Iterations of a region are independent, so a top-level region may run in parallel too.
  if (!step_ && !fn_->parent && (s.mark == loop::Mark::Parallel || (region && depth() == 1)))
    return outlined(s, region);
  Val* zero = constant(0);
  if (region)
    region_loop(s, zero, value(s.extent));
  else
    serial_loop(s, zero->scalar, value(s.extent)->scalar);
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
  if (reduces_columns(s))
    columns(s, begin, end);
  else
    steps(s, begin, end, pieces_of(s), !loop::contains_store(s.body), [&] { block(s.body); });
  end_region(s);
}

void Emitter::steps(const Stmt& s, Val* begin, Val* end, int pieces, bool move_loads, llvm::function_ref<void()> body) {
  Val* n = uniform(Op::Max, uniform(Op::Sub, end, begin), constant(0));
  Val* at = begin;
  auto part = [&](int count, int lanes) {
    Val* stop = uniform(Op::Add, begin, uniform(Op::And, n, constant(-int64_t{count} * lanes)));
    Loop l = open(at->scalar, stop->scalar, int64_t{count} * lanes, {}, move_loads);
    Iterations st{count, lanes, l.i, depth()};
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
    if (region)
      region_loop(s, uniform(first, 0), uniform(last, 0));
    else
      serial_loop(s, first, last);
  });
}

void Emitter::fork(Value* n, Value* minimum, Value* ns, llvm::function_ref<void(Value*, Value*)> body) {
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
  Function* outer = fn_;
  Function f;
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin(f, llvm::Function::Create(type, llvm::Function::InternalLinkage, name_ + "_range", m_));
    f.captures = f.code->getArg(1);
    f.parent = outer;
    body(f.code->getArg(2), f.code->getArg(3));
    finish_bypassing();
    b_.CreateRetVoid();
    fn_ = outer;
  }
  Value* captures = stack_array(b_.getInt64Ty(), std::max<int64_t>(1, static_cast<int64_t>(f.captured.size())));
  for (size_t i = 0; i < f.captured.size(); ++i)
    b_.CreateStore(f.captured[i], element(b_.getInt64Ty(), captures, i64(static_cast<int64_t>(i))));
  service(kParallel, b_.getVoidTy(), {f.code, captures, n, minimum, ns}, true);
}

Value* Emitter::work(const Stmt& s, bool region) {
  Value* ns = llvm::ConstantFP::get(b_.getDoubleTy(), 0.0);
  for (const loop::WorkTerm& t : loop::work_of(k_, s, region, kRates)) {
    Value* x = llvm::ConstantFP::get(b_.getDoubleTy(), t.ns);
    for (ValueId e : t.extents)
      x = b_.CreateFMul(x, b_.CreateSIToFP(value(e)->scalar, b_.getDoubleTy()));
    ns = b_.CreateFAdd(ns, x);
  }
  return ns;
}

}  // namespace sheaf::codegen::native
