// From a kernel to an LLVM function.
//
// 1. Regions (loop/regions.h) run as vector code: a main loop of several *pieces* of `lanes` elements, a loop of one
//    piece, and a scalar loop for what is left. Everything else is scalar code. No IR pass runs afterwards, so what is
//    emitted is what the code generator sees: values in SSA form, no variables in memory but the lanes of reductions.
// 2. Values inside a region are uniform (the same for all its iterations), affine (i64, base + i * stride with uniform base
//    and stride) or varying (one vector for each piece). Affine values are computed only where someone needs the
//    elements; loads and stores of stride 1 are vector accesses, of stride 0 a splat, others go lane by lane.
// 3. A pure value is emitted in the outermost *scope* where its operands are known, which is all the hoisting there is.
//    Every loop has two scopes: one that runs once if the loop runs at all, for loads, and the body.
// 4. The body of a parallel loop becomes a function of its own; values it uses from outside are passed in an array.
// 5. Reductions keep the lanes and blocks of ir.h: in vector registers along their own axis; as rows of an array where
//    they run inside a region. Reductions of whole columns walk the rows of memory: loops over rows around loops over
//    columns, and then the rest of the region with the totals.
#include "codegen/llvm/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <deque>
#include <map>

#include "codegen/llvm/abi.h"
#include "codegen/llvm/arithmetic.h"
#include "loop/regions.h"
#include "loop/scalar_ops.h"
#include "support/error.h"

namespace sheaf::codegen::native {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using loop::Block;
using loop::Combine;
using loop::Inst;
using loop::kNoValue;
using loop::kReduceBlock;
using loop::kReduceLanes;
using loop::Mark;
using loop::Op;
using loop::Stmt;
using loop::ValueId;
using Values = std::vector<Value*>;

constexpr loop::WorkRates kRates{.element = 0.1, .elementary = 1.5, .start = 0.5, .scalar = 0.5, .call = 1000};
// Pieces of a step: enough independent work for the pipelines, few enough that the values of one fit the registers.
constexpr int kPieces = 4, kPiecesOfLongBodies = 2;
constexpr int kLongBody = 150;  // in statements
// Columns that are reduced together, in bytes of a row: a row that is touched should give several cache lines, and 32 rows
// of accumulators stay in the first-level cache.
constexpr int64_t kColumnBytes = 1024;
// Iterations of a region that are worth a range of their own.
constexpr int64_t kMinRange = 256;
constexpr int64_t kWave = 2048;     // blocks of a reduction whose totals wait to be combined
constexpr int kPendingBlocks = 40;  // levels of the binary counter of blocks: more than memory holds

// A value of the kernel in the function being emitted.
struct Val {
  enum Kind : uint8_t { Uniform, Affine, Varying } kind;
  int depth;                          // the scope it is known in
  Value* scalar = nullptr;            // Uniform
  Val *base = nullptr, *stride = nullptr;  // Affine
  Values pieces;                      // Varying; Affine once the elements have been asked for
  std::map<int, Value*> splats;       // Uniform: by lanes
};

struct Scope {
  llvm::Instruction* resume = nullptr;  // where code of this scope goes while an inner one is open
  std::vector<ValueId> values;          // known here
  int loads = -1;                       // the scope that loads of this one may move to, or -1
};

struct Function {
  llvm::Function* code;
  Value* context;
  Value* captures = nullptr;
  Function* parent = nullptr;
  BasicBlock* entry = nullptr;
  std::vector<Scope> scopes;
  std::vector<Val*> values, index, result, sizes;
  std::vector<Value*> buffers;
  Values captured;                      // in the parent
};

// The iterations of a region that code is being emitted for: pieces * lanes of them from `first` on.
struct Step {
  int pieces, lanes;
  Value* first;
  int depth;
};

struct Loop {
  BasicBlock *guard, *body, *exit;
  llvm::PHINode* i;
  Value *end, *step;
  std::vector<llvm::PHINode*> carried;
  Values initial;
};
struct If {
  BasicBlock *from, *join;
};

class Emitter {
 public:
  Emitter(const loop::Kernel& k, const std::string& name, const Host& host, llvm::Module& m)
      : k_(k), name_(name), host_(host), m_(m), c_(m.getContext()), b_(c_),
        a_(b_, host, [this](Service s, std::initializer_list<Value*> args) { return service(s, (*args.begin())->getType(), Values(args), false); }) {}

  std::vector<NativeObject::Call> run() {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    Function f;
    begin(f, llvm::Function::Create(type, llvm::Function::ExternalLinkage, name_, m_));
    block(k_.body);
    b_.CreateRetVoid();
    return std::move(calls_);
  }

 private:
  // --- functions, scopes, loops ---

  void begin(Function& f, llvm::Function* code) {
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

  BasicBlock* new_block(const char* name) { return BasicBlock::Create(c_, name, fn_->code); }
  int depth() const { return static_cast<int>(fn_->scopes.size()) - 1; }

  // While it lives, code goes to the scope of this depth.
  struct At {
    llvm::IRBuilderBase::InsertPointGuard guard;
    At(Emitter& e, int depth) : guard(e.b_) {
      if (depth < e.depth()) e.b_.SetInsertPoint(e.fn_->scopes[static_cast<size_t>(depth)].resume);
    }
  };

  void push_scope(llvm::Instruction* resume, BasicBlock* next, int loads) {
    fn_->scopes.back().resume = resume;
    fn_->scopes.push_back({nullptr, {}, loads});
    b_.SetInsertPoint(next);
  }
  void pop_scope() {
    for (ValueId v : fn_->scopes.back().values) fn_->values[v] = nullptr;
    fn_->scopes.pop_back();
  }

  // A loop over [begin, end) by `step`, which divides the distance; `initial` values are carried around.
  Loop open(Value* begin, Value* end, int64_t step, Values initial, bool move_loads) {
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
  // Ends the loop with the next carried values; returns them as they are behind it.
  Values close(Loop& l, const Values& next = {}) {
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
  Values carried(const Loop& l) { return Values(l.carried.begin(), l.carried.end()); }

  If open_if(Value* condition) {
    If f{b_.GetInsertBlock(), new_block("join")};
    BasicBlock* then = new_block("then");
    push_scope(b_.CreateCondBr(condition, then, f.join), then, -1);
    return f;
  }
  // Ends it; the value is `then` if it ran, else `otherwise`.
  Value* close_if(If& f, Value* then = nullptr, Value* otherwise = nullptr) {
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

  Value* i64(int64_t x) { return b_.getInt64(static_cast<uint64_t>(x)); }
  Value* stack_array(llvm::Type* type, int64_t n) {
    At at(*this, 0);
    auto* a = b_.CreateAlloca(type, i64(n));
    a->setAlignment(llvm::Align(64));
    return a;
  }
  Value* element(llvm::Type* type, Value* array, Value* i) { return b_.CreateGEP(type, array, i); }
  Value* smin(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }

  // --- services ---

  Value* context_field(int i, llvm::Type* type) { return b_.CreateLoad(type, element(b_.getPtrTy(), fn_->context, i64(i))); }

  Value* service(Service s, llvm::Type* result, const Values& args, bool with_context) {
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

  Val* make(Val v) {
    vals_.push_back(std::move(v));
    return &vals_.back();
  }
  Val* uniform(Value* x, int depth) { return make({Val::Uniform, depth, x}); }
  Val* constant(int64_t x) { return uniform(i64(x), 0); }
  void define(ValueId v, Val* x) {
    fn_->values[v] = x;
    fn_->scopes[static_cast<size_t>(x->depth)].values.push_back(v);
  }

  Val* value(ValueId v) {
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

  Val* size(int64_t i) {
    Val*& known = fn_->sizes[static_cast<size_t>(i)];
    if (!known) {
      At at(*this, 0);
      known = uniform(b_.CreateLoad(b_.getInt64Ty(), element(b_.getInt64Ty(), context_field(2, b_.getPtrTy()), i64(i))), 0);
    }
    return known;
  }

  Value* buffer(int64_t i) {
    Value*& known = fn_->buffers[static_cast<size_t>(i)];
    if (!known) {
      At at(*this, 0);
      known = b_.CreateLoad(b_.getPtrTy(), element(b_.getPtrTy(), context_field(1, b_.getPtrTy()), i64(i)));
    }
    return known;
  }

  Val* capture(ValueId v) {
    Function* inner = fn_;
    fn_ = inner->parent;
    Value* outer = value(v)->scalar;
    fn_ = inner;
    return uniform(capture(outer), 0);
  }
  // A value of the parent, in the function that is being written.
  Value* capture(Value* outer) {
    At at(*this, 0);
    Value* slot = element(b_.getInt64Ty(), fn_->captures, i64(static_cast<int64_t>(fn_->captured.size())));
    fn_->captured.push_back(outer);
    return b_.CreateLoad(outer->getType(), slot);
  }

  static bool is_constant(const Val* v, int64_t x) {
    auto* c = v->kind == Val::Uniform ? llvm::dyn_cast<llvm::ConstantInt>(v->scalar) : nullptr;
    return c && c->getSExtValue() == x;
  }

  // i64 arithmetic on uniform values.
  Val* uniform(Op op, Val* x, Val* y) {
    if (op == Op::Mul && (is_constant(x, 0) || is_constant(y, 0))) return constant(0);
    if (op == Op::Mul && is_constant(x, 1)) return y;
    if (op == Op::Mul && is_constant(y, 1)) return x;
    if (op == Op::Add && is_constant(x, 0)) return y;
    if ((op == Op::Add || op == Op::Sub) && is_constant(y, 0)) return x;
    int d = std::max(x->depth, y->depth);
    At at(*this, d);
    return uniform(a_.apply({op, DType::I64, DType::I64}, x->scalar, y->scalar, nullptr), d);
  }

  int num_pieces() const { return step_ ? step_->pieces : 1; }
  int num_lanes() const { return step_ ? step_->lanes : 1; }

  // The elements of a value in piece p of the current step.
  Value* piece(Val* v, int p) {
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
  Values pieces(Val* v) {
    Values out;
    for (int p = 0; p < num_pieces(); ++p) out.push_back(piece(v, p));
    return out;
  }

  // --- statements ---

  void block(const Block& b) {
    for (const Stmt& s : b) switch (s.kind) {
        case Stmt::Let: let(s.value); break;
        case Stmt::Loop: loop(s); break;
        case Stmt::Reduce: reduce(s); break;
        case Stmt::Store: store(s); break;
        case Stmt::Check: check(s); break;
        case Stmt::Call: call(s); break;
      }
  }

  void let(ValueId v) {
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
    At at(*this, d);
    for (int p = 0; p < num_pieces(); ++p) {
      size_t q = static_cast<size_t>(p);
      out.pieces.push_back(a_.apply(inst, x[0][q], x[1][q], x[2][q]));
    }
    define(v, make(std::move(out)));
  }

  // i64 sums and products of affine and uniform values stay affine.
  Val* affine(const Inst& inst, Val* const* arg) {
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
  template <class F>
  void addresses(int64_t number, Val* offset, F f) {
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

  Val* load(const Inst& inst, Val* offset) {
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

  void store(const Stmt& s) {
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

  void check(const Stmt& s) {
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

  void end_region(const Stmt& s) {
    if (loop::contains_check(s.body)) service(kEndRegion, b_.getVoidTy(), {}, true);
  }

  void call(const Stmt& s) {
    Value* arguments = stack_array(b_.getInt64Ty(), static_cast<int64_t>(s.arguments.size()));
    for (size_t i = 0; i < s.arguments.size(); ++i)
      b_.CreateStore(value(s.arguments[i])->scalar, element(b_.getInt64Ty(), arguments, i64(static_cast<int64_t>(i))));
    service(kCall, b_.getVoidTy(), {i64(static_cast<int64_t>(calls_.size())), arguments}, true);
    calls_.push_back({s.routine, s.buffers, s.arguments.size()});
  }

  // --- loops ---

  void loop(const Stmt& s) {
    bool region = !step_ && loop::is_region(k_, s);
    // Iterations of a region are independent, so a large one outside of all loops may use the threads too.
    if (!step_ && !fn_->parent && (s.mark == Mark::Parallel || (region && depth() == 1))) return outlined(s, region);
    Val* zero = constant(0);
    if (region) region_loop(s, zero, value(s.extent));
    else serial_loop(s, zero->scalar, value(s.extent)->scalar);
  }

  void serial_loop(const Stmt& s, Value* begin, Value* end) {
    Loop l = open(begin, end, 1, {}, !loop::contains_store(s.body));
    fn_->index[static_cast<size_t>(s.axis)] = uniform(l.i, depth());
    block(s.body);
    close(l);
  }

  static int statements(const Block& b) {
    int n = 0;
    for (const Stmt& s : b) n += 1 + statements(s.body);
    return n;
  }
  bool is_ordered(const Stmt& s) const {
    DType d = k_.reduction_types[static_cast<size_t>(s.id)];
    return (d == DType::F32 || d == DType::F64) && (s.combine == Combine::Sum || s.combine == Combine::Prod);
  }
  int pieces_of(const Stmt& s) const {
    return statements(s.body) > kLongBody ? kPiecesOfLongBodies : kPieces;
  }

  void region_loop(const Stmt& s, Val* begin, Val* end) {
    if (reduces_columns(s)) columns(s, begin, end);
    else steps(s, begin, end, pieces_of(s), !loop::contains_store(s.body), [&] { block(s.body); });
    end_region(s);
  }

  // Runs `body` for the iterations [begin, end) of a region: several pieces at a time, then one, then single iterations.
  template <class Body>
  void steps(const Stmt& s, Val* begin, Val* end, int pieces, bool move_loads, Body body) {
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

  void outlined(const Stmt& s, bool region) {
    fork(value(s.extent)->scalar, region ? kMinRange : 1, work(s, region), [&](Value* first, Value* last) {
      if (region) region_loop(s, uniform(first, 0), uniform(last, 0));
      else serial_loop(s, first, last);
    });
  }

  // A loop of n iterations for threads to share: `body` writes the code for those from its first argument to its second.
  template <class Body>
  void fork(Value* n, int64_t minimum, Value* ns, Body body) {
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
    service(kParallel, b_.getVoidTy(), {f.code, captures, n, i64(minimum), ns}, true);
  }

  // Nanoseconds of one iteration, as code.
  Value* work(const Stmt& s, bool region) {
    Value* ns = llvm::ConstantFP::get(b_.getDoubleTy(), 0.0);
    for (const loop::WorkTerm& t : loop::work_of(k_, s, region, kRates)) {
      Value* x = llvm::ConstantFP::get(b_.getDoubleTy(), t.ns);
      for (ValueId e : t.extents) x = b_.CreateFMul(x, b_.CreateSIToFP(value(e)->scalar, b_.getDoubleTy()));
      ns = b_.CreateFAdd(ns, x);
    }
    return ns;
  }

  // --- reductions ---

  void reduce(const Stmt& s) {
    bool position = s.combine == Combine::ArgMax || s.combine == Combine::ArgMin;
    if (!step_ && loop::is_region(k_, s)) {
      Value* r = position ? position_along(s) : value_along(s);
      end_region(s);
      fn_->result[static_cast<size_t>(s.id)] = uniform(r, depth());
      return;
    }
    if (auto known = totals_.find(s.id); step_ && known != totals_.end()) {
      Val out{Val::Varying, depth()};
      for (int p = 0; p < num_pieces(); ++p) out.pieces.push_back(from_accumulator(s, load_columns(known->second, nullptr, p)));
      fn_->result[static_cast<size_t>(s.id)] = make(std::move(out));
      return;
    }
    Values r = position ? position_inside(s) : is_ordered(s) ? ordered_inside(s) : unordered_inside(s);
    Val out{step_ ? Val::Varying : Val::Uniform, depth(), r[0]};
    if (step_) out.pieces = std::move(r);
    fn_->result[static_cast<size_t>(s.id)] = make(std::move(out));
  }

  DType accumulator(const Stmt& s) const { return Arithmetic::accumulator(k_.reduction_types[static_cast<size_t>(s.id)]); }
  Value* to_accumulator(const Stmt& s, Value* x) { return a_.convert(x, k_.reduction_types[static_cast<size_t>(s.id)], accumulator(s)); }
  Value* from_accumulator(const Stmt& s, Value* x) { return a_.convert(x, accumulator(s), k_.reduction_types[static_cast<size_t>(s.id)]); }
  Value* combined(const Stmt& s, Value* x, Value* y) { return a_.combine(s.combine, accumulator(s), x, y); }

  // Elements `first` … of a reduction that is a region.
  Values elements(const Stmt& s, int pieces_wanted, int lanes, Value* first) {
    BasicBlock* next = new_block("elements");
    push_scope(b_.CreateBr(next), next, fn_->scopes.back().loads);
    Step st{pieces_wanted, lanes, first, depth()};
    step_ = &st;
    fn_->index[static_cast<size_t>(s.axis)] = make({Val::Affine, depth(), nullptr, constant(0), constant(1)});
    block(s.body);
    Values out = pieces(value(s.value));
    for (Value*& x : out) x = to_accumulator(s, x);
    step_ = nullptr;
    pop_scope();
    return out;
  }

  // Lane i with lane i + half, until one is left.
  Value* halved(const Stmt& s, Values x) {
    for (size_t half = x.size() / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i) x[i] = combined(s, x[i], x[i + half]);
    Value* v = x[0];
    for (int half = host_.lanes / 2; half > 0; half /= 2) {
      llvm::SmallVector<int, 16> low, high;
      for (int i = 0; i < half; ++i) low.push_back(i), high.push_back(half + i);
      if (half == 1) v = combined(s, b_.CreateExtractElement(v, uint64_t{0}), b_.CreateExtractElement(v, uint64_t{1}));
      else v = combined(s, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
    }
    return v;
  }

  // Block results wait in `pending`, one row of pieces for each bit of the number of blocks so far, like the carries of a
  // binary counter.
  struct Rows {
    Value* memory;
    DType type;
    int pieces, lanes;
  };
  Rows rows(DType d, int n, int pieces, int lanes) { return {stack_array(a_.type(d), int64_t{n} * pieces * lanes), d, pieces, lanes}; }
  Value* row_address(const Rows& r, Value* i, int p) {
    Value* at = b_.CreateAdd(b_.CreateMul(i, i64(int64_t{r.pieces} * r.lanes)), i64(int64_t{p} * r.lanes));
    return element(a_.type(r.type), r.memory, at);
  }
  Values load_row(const Rows& r, Value* i) {
    Values out;
    for (int p = 0; p < r.pieces; ++p) out.push_back(b_.CreateAlignedLoad(a_.type(r.type, r.lanes), row_address(r, i, p), llvm::Align(static_cast<uint64_t>(size_bytes(r.type)))));
    return out;
  }
  void store_row(const Rows& r, Value* i, const Values& x) {
    for (int p = 0; p < r.pieces; ++p) b_.CreateAlignedStore(x[static_cast<size_t>(p)], row_address(r, i, p), llvm::Align(static_cast<uint64_t>(size_bytes(r.type))));
  }
  Values combined(const Stmt& s, const Values& x, const Values& y) {
    Values out;
    for (size_t i = 0; i < x.size(); ++i) out.push_back(combined(s, x[i], y[i]));
    return out;
  }

  void push_block(const Stmt& s, const Rows& pending, Value* blocks, Values total) {
    Value* count = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, blocks);
    Value* carries = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt64Ty()}, {b_.CreateNot(blocks), b_.getFalse()});
    Loop l = open(i64(0), carries, 1, total, false);
    Value* from = b_.CreateSub(b_.CreateSub(count, i64(1)), l.i);
    total = close(l, combined(s, load_row(pending, from), carried(l)));
    store_row(pending, b_.CreateSub(count, carries), total);
  }
  Values pop_blocks(const Stmt& s, const Rows& pending, Value* n) {
    Value* blocks = b_.CreateUDiv(b_.CreateAdd(n, i64(kReduceBlock - 1)), i64(kReduceBlock));
    Value* last = b_.CreateSub(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, blocks), i64(1));
    Loop l = open(i64(0), last, 1, load_row(pending, last), false);
    Value* from = b_.CreateSub(b_.CreateSub(last, i64(1)), l.i);
    return close(l, combined(s, load_row(pending, from), carried(l)));
  }

  // The frame of a reduction in blocks: block_total(base, limit) gives the total of elements [base, limit).
  template <class F>
  Values by_blocks(const Stmt& s, int pieces, int lanes, F block_total) {
    DType d = accumulator(s);
    Value* n = value(s.extent)->scalar;
    Rows pending = rows(d, kPendingBlocks, pieces, lanes);
    Value* several = b_.CreateICmpSGT(n, i64(kReduceBlock));
    Values identity(static_cast<size_t>(pieces), a_.splat(a_.identity(s.combine, d), lanes));
    Loop l = open(i64(0), n, kReduceBlock, identity, false);
    Value* limit = smin(n, b_.CreateAdd(l.i, i64(kReduceBlock)));
    Values total = block_total(l.i, limit);
    If f = open_if(several);
    push_block(s, pending, b_.CreateUDiv(l.i, i64(kReduceBlock)), total);
    close_if(f);
    total = close(l, total);
    If g = open_if(several);
    Values all = pop_blocks(s, pending, n);
    BasicBlock *end = b_.GetInsertBlock(), *from = g.from;
    close_if(g);
    for (size_t p = 0; p < total.size(); ++p) {
      llvm::PHINode* phi = b_.CreatePHI(total[p]->getType(), 2);
      phi->addIncoming(all[p], end);
      phi->addIncoming(total[p], from);
      total[p] = phi;
    }
    return total;
  }

  // A reduction along the vector axis.
  Value* value_along(const Stmt& s) {
    bool shared = !fn_->parent && depth() == 1;
    Value* total = shared ? total_of_shared_blocks(s) : by_blocks(s, 1, 1, [&](Value* base, Value* limit) { return Values{block_total(s, base, limit)}; })[0];
    return from_accumulator(s, total);
  }

  // Outside of all loops threads share the blocks, a wave of them at a time; their totals are then combined in order.
  Value* total_of_shared_blocks(const Stmt& s) {
    DType d = accumulator(s);
    Value* blocks = b_.CreateUDiv(b_.CreateAdd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value(s.extent)->scalar, i64(0)), i64(kReduceBlock - 1)), i64(kReduceBlock));
    Value *totals = stack_array(a_.type(d), kWave), *identity = a_.identity(s.combine, d);
    Value* ns = b_.CreateFMul(work(s, true), llvm::ConstantFP::get(b_.getDoubleTy(), double{kReduceBlock}));
    Rows pending = rows(d, kPendingBlocks, 1, 1);
    Loop wave = open(i64(0), blocks, kWave, {}, false);
    Value* count = smin(i64(kWave), b_.CreateSub(blocks, wave.i));
    fork(count, 1, ns, [&](Value* first, Value* last) {
      Value *to = capture(totals), *before = capture(wave.i), *n = value(s.extent)->scalar;
      Loop l = open(first, last, 1, {}, false);
      Value* base = b_.CreateMul(b_.CreateAdd(before, l.i), i64(kReduceBlock));
      b_.CreateStore(block_total(s, base, smin(n, b_.CreateAdd(base, i64(kReduceBlock)))), element(a_.type(d), to, l.i));
      close(l);
      end_region(s);
    });
    Loop each = open(i64(0), count, 1, {}, false);
    push_block(s, pending, b_.CreateAdd(wave.i, each.i), {b_.CreateLoad(a_.type(d), element(a_.type(d), totals, each.i))});
    close(each);
    close(wave);
    If some = open_if(b_.CreateICmpSGT(blocks, i64(0)));
    Value* all = pop_blocks(s, pending, value(s.extent)->scalar)[0];
    BasicBlock *end = b_.GetInsertBlock(), *from = some.from;
    close_if(some);
    llvm::PHINode* phi = b_.CreatePHI(all->getType(), 2);
    phi->addIncoming(all, end);
    phi->addIncoming(identity, from);
    return phi;
  }

  // The total of elements [base, limit), at most a block: the 32 lanes are a few registers.
  Value* block_total(const Stmt& s, Value* base, Value* limit) {
    DType d = accumulator(s);
    int lanes = host_.lanes, pieces = kReduceLanes / lanes, together = std::min(pieces, statements(s.body) > kLongBody ? kPiecesOfLongBodies : kPieces);
    bool move_loads = !loop::contains_store(s.body);
    Rows memory = rows(d, 1, pieces, lanes);
    Values identity(static_cast<size_t>(pieces), a_.splat(a_.identity(s.combine, d), lanes));
    Value* full = b_.CreateAdd(base, b_.CreateAnd(b_.CreateSub(limit, base), i64(-kReduceLanes)));
    Loop wide = open(base, full, kReduceLanes, identity, move_loads);
    Values acc = carried(wide);
    for (int p = 0; p < pieces; p += together) {
      Values x = elements(s, together, lanes, b_.CreateAdd(wide.i, i64(p * lanes)));
      for (int q = 0; q < together; ++q) acc[static_cast<size_t>(p + q)] = combined(s, acc[static_cast<size_t>(p + q)], x[static_cast<size_t>(q)]);
    }
    acc = close(wide, acc);
    // Fewer than 32 elements are left: at most once.
    Loop rest = open(full, limit, kReduceLanes, acc, false);
    store_row(memory, i64(0), carried(rest));
    Value* narrow = b_.CreateAdd(full, b_.CreateAnd(b_.CreateSub(limit, full), i64(-lanes)));
    auto add = [&](Value* from, Value* to, int count) {
      Loop l = open(from, to, count, {}, move_loads);
      Value* at = element(a_.type(d), memory.memory, b_.CreateSub(l.i, full));
      Value* x = elements(s, 1, count, l.i)[0];
      llvm::Align align(static_cast<uint64_t>(size_bytes(d)));
      b_.CreateAlignedStore(combined(s, b_.CreateAlignedLoad(x->getType(), at, align), x), at, align);
      close(l);
    };
    add(full, narrow, lanes);
    add(narrow, limit, 1);
    acc = close(rest, load_row(memory, i64(0)));
    return halved(s, acc);
  }

  // The same for positions: each lane keeps its best, the first of equals; then the lanes are compared.
  Value* position_along(const Stmt& s) {
    DType d = accumulator(s);
    int lanes = host_.lanes, pieces = kPieces;
    bool move_loads = !loop::contains_store(s.body);
    Value* n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value(s.extent)->scalar, i64(0));
    Values state(static_cast<size_t>(pieces), a_.splat(a_.identity(s.combine, d), lanes));
    state.resize(2 * state.size(), a_.splat(i64(0), lanes));
    auto improve = [&](Value*& best, Value*& position, Value* x, Value* at) {
      int count = x->getType()->isVectorTy() ? lanes : 1;
      Value* take = a_.replaces(s.combine, d, x, best);
      best = b_.CreateSelect(take, x, best);
      Value* places = a_.splat(at, count);
      if (count > 1) {
        llvm::SmallVector<llvm::Constant*, 16> numbers;
        for (int l = 0; l < count; ++l) numbers.push_back(llvm::cast<llvm::Constant>(i64(l)));
        places = b_.CreateAdd(places, llvm::ConstantVector::get(numbers));
      }
      position = b_.CreateSelect(take, places, position);
    };
    auto part = [&](Value* from, Value* to, int count, int width, Values& best_then_position) {
      Loop l = open(from, to, int64_t{count} * width, best_then_position, move_loads);
      Values now = carried(l), x = elements(s, count, width, l.i);
      for (int p = 0; p < count; ++p) {
        size_t q = static_cast<size_t>(p);
        improve(now[q], now[q + static_cast<size_t>(count)], x[q], b_.CreateAdd(l.i, i64(p * width)));
      }
      best_then_position = close(l, now);
    };
    Value* wide = b_.CreateAnd(n, i64(-int64_t{pieces} * lanes));
    Value* narrow = b_.CreateAnd(n, i64(-lanes));
    part(i64(0), wide, pieces, lanes, state);
    auto better = [&](Value*& best, Value*& position, Value* other, Value* other_position) {
      Value* first = b_.CreateAnd(a_.ties(d, other, best), b_.CreateICmpSLT(other_position, position));
      Value* take = b_.CreateOr(a_.replaces(s.combine, d, other, best), first);
      best = b_.CreateSelect(take, other, best);
      position = b_.CreateSelect(take, other_position, position);
    };
    size_t count = static_cast<size_t>(pieces);
    for (size_t half = count / 2; half > 0; half /= 2)
      for (size_t p = 0; p < half; ++p) better(state[p], state[count + p], state[p + half], state[count + p + half]);
    Values one{state[0], state[count]};
    part(wide, narrow, 1, lanes, one);
    Value *best = b_.CreateExtractElement(one[0], uint64_t{0}), *position = b_.CreateExtractElement(one[1], uint64_t{0});
    for (int l = 1; l < lanes; ++l)
      better(best, position, b_.CreateExtractElement(one[0], static_cast<uint64_t>(l)), b_.CreateExtractElement(one[1], static_cast<uint64_t>(l)));
    Values last{best, position};
    part(narrow, n, 1, 1, last);
    return last[1];
  }

  // A reduction inside a region, or around loops: one element for each iteration of the region at a time.
  template <class Add>
  void inside(const Stmt& s, Value* from, Value* to, Values& state, Add add) {
    Loop l = open(from, to, 1, state, !loop::contains_store(s.body));
    fn_->index[static_cast<size_t>(s.axis)] = uniform(l.i, depth());
    block(s.body);
    Values x = pieces(value(s.value));
    for (Value*& e : x) e = to_accumulator(s, e);
    Values now = carried(l);
    add(now, x, l.i);
    state = close(l, now);
  }

  Values unordered_inside(const Stmt& s) {
    Values state(static_cast<size_t>(num_pieces()), a_.splat(a_.identity(s.combine, accumulator(s)), num_lanes()));
    inside(s, i64(0), value(s.extent)->scalar, state, [&](Values& now, const Values& x, Value*) { now = combined(s, now, x); });
    for (Value*& x : state) x = from_accumulator(s, x);
    return state;
  }

  Values position_inside(const Stmt& s) {
    size_t count = static_cast<size_t>(num_pieces());
    Values state(count, a_.splat(a_.identity(s.combine, accumulator(s)), num_lanes()));
    state.resize(2 * count, a_.splat(i64(0), num_lanes()));
    inside(s, i64(0), value(s.extent)->scalar, state, [&](Values& now, const Values& x, Value* i) {
      for (size_t p = 0; p < count; ++p) {
        Value* take = a_.replaces(s.combine, accumulator(s), x[p], now[p]);
        now[p] = b_.CreateSelect(take, x[p], now[p]);
        now[count + p] = b_.CreateSelect(take, a_.splat(i, num_lanes()), now[count + p]);
      }
    });
    return Values(state.begin() + static_cast<std::ptrdiff_t>(count), state.end());
  }

  // Where the bracketing decides bits: a row of memory for each of the 32 lanes.
  Values ordered_inside(const Stmt& s) {
    DType d = accumulator(s);
    Rows lanes = rows(d, kReduceLanes, num_pieces(), num_lanes());
    Values identity(static_cast<size_t>(num_pieces()), a_.splat(a_.identity(s.combine, d), num_lanes()));
    return by_blocks(s, num_pieces(), num_lanes(), [&](Value* base, Value* limit) {
      Values none;
      Value* first = smin(limit, b_.CreateAdd(base, i64(kReduceLanes)));
      inside(s, base, first, none, [&](Values&, const Values& x, Value* i) { store_row(lanes, b_.CreateSub(i, base), combined(s, identity, x)); });
      inside(s, first, limit, none, [&](Values&, const Values& x, Value* i) {
        Value* row = b_.CreateAnd(i, i64(kReduceLanes - 1));
        store_row(lanes, row, combined(s, load_row(lanes, row), x));
      });
      // Lanes that no element reached would hold the identity, which changes nothing.
      Value* used = b_.CreateSub(first, base);
      for (int half = kReduceLanes / 2; half > 0; half /= 2) {
        Loop l = open(i64(0), b_.CreateSub(smin(used, i64(2 * half)), i64(half)), 1, {}, false);
        store_row(lanes, l.i, combined(s, load_row(lanes, l.i), load_row(lanes, b_.CreateAdd(l.i, i64(half)))));
        close(l);
      }
      return load_row(lanes, i64(0));
    });
  }

  // --- reductions of columns ---

  // Whether the reductions of a region can go first: only values come before them, and nothing but values is in them.
  bool reduces_columns(const Stmt& s) const {
    bool seen = false, stored = false;
    for (const Stmt& t : s.body) {
      if (t.kind == Stmt::Let) continue;
      if (t.kind != Stmt::Reduce) {
        stored = true;
        continue;
      }
      if (stored || t.combine == Combine::ArgMax || t.combine == Combine::ArgMin) return false;
      for (const Stmt& u : t.body)
        if (u.kind != Stmt::Let) return false;
      seen = true;
    }
    return seen;
  }

  // Rows of accumulators for the columns from `first` on.
  struct Columns {
    Value *memory, *first;
    DType type;
    int64_t width;   // of a row
    Value* used;     // columns, rounded up to whole steps: what lies behind the last is computed and never read
  };
  Value* column_address(const Columns& c, Value* row, Value* column) {
    return element(a_.type(c.type), c.memory, row ? b_.CreateAdd(b_.CreateMul(row, i64(c.width)), column) : column);
  }
  // The accumulators of piece p of the current step.
  Value* step_address(const Columns& c, Value* row, int p) {
    Value* column = b_.CreateAdd(b_.CreateSub(step_->first, c.first), i64(int64_t{p} * step_->lanes));
    return column_address(c, row, column);
  }
  Value* load_columns(const Columns& c, Value* row, int p) {
    return b_.CreateAlignedLoad(a_.type(c.type, step_->lanes), step_address(c, row, p), llvm::Align(static_cast<uint64_t>(size_bytes(c.type))));
  }
  // row `to` = f(the same columns of row `x` of cx, and of row `y` of cy), piece by piece; rows that f does not use are null.
  template <class F>
  void each_column(const Columns& to, Value* row, const Columns& cx, Value* x, const Columns& cy, Value* y, F f) {
    Loop l = open(i64(0), to.used, int64_t{kPieces} * host_.lanes, {}, false);
    llvm::Align align(static_cast<uint64_t>(size_bytes(to.type)));
    llvm::Type* type = a_.type(to.type, host_.lanes);
    for (int p = 0; p < kPieces; ++p) {
      Value* at = b_.CreateAdd(l.i, i64(int64_t{p} * host_.lanes));
      Value* left = x ? b_.CreateAlignedLoad(type, column_address(cx, x, at), align) : nullptr;
      Value* right = y ? b_.CreateAlignedLoad(type, column_address(cy, y, at), align) : nullptr;
      b_.CreateAlignedStore(f(left, right), column_address(to, row, at), align);
    }
    close(l);
  }

  void columns(const Stmt& s, Val* begin, Val* end) {
    int64_t widest = 1;
    for (const Stmt& t : s.body)
      if (t.kind == Stmt::Reduce) widest = std::max<int64_t>(widest, size_bytes(accumulator(t)));
    int64_t width = kColumnBytes / widest;
    Loop l = open(begin->scalar, end->scalar, width, {}, false);
    Val* first = uniform(l.i, depth());
    Val* last = uniform(Op::Min, end, uniform(Op::Add, first, constant(width)));
    int64_t together = int64_t{kPieces} * host_.lanes;
    Value* used = b_.CreateAnd(b_.CreateAdd(b_.CreateSub(last->scalar, l.i), i64(together - 1)), i64(-together));
    size_t before = 0;
    for (const Stmt& t : s.body) {
      if (t.kind == Stmt::Reduce) totals_.emplace(t.id, column_totals(s, t, before, first, last, {nullptr, l.i, accumulator(t), width, used}));
      ++before;
    }
    steps(s, first, last, pieces_of(s), !loop::contains_store(s.body), [&] { block(s.body); });
    for (const Stmt& t : s.body)
      if (t.kind == Stmt::Reduce) totals_.erase(t.id);
    close(l);
  }

  Columns column_rows(Columns like, int64_t rows) {
    like.memory = stack_array(a_.type(like.type), rows * like.width);
    return like;
  }

  // The totals of reduction `t`, statement number `before` of region `s`, for the columns [first, last).
  Columns column_totals(const Stmt& s, const Stmt& t, size_t before, Val* first, Val* last, const Columns& shape) {
    Columns total = column_rows(shape, 1);
    Value* n = value(t.extent)->scalar;
    Value* none = nullptr;
    auto clear = [&](const Columns& c, Value* row) {
      Value* identity = a_.splat(a_.identity(t.combine, c.type), host_.lanes);
      each_column(c, row, c, none, c, none, [&](Value*, Value*) { return identity; });
    };
    auto both = [&](Value* x, Value* y) { return combined(t, x, y); };
    auto copy = [](Value* x, Value*) { return x; };
    // Adds element `i` of every column to a row.
    auto add = [&](const Columns& c, Value* row, Val* i) {
      steps(s, first, last, pieces_of(t), true, [&] {
        for (size_t k = 0; k < before; ++k)
          if (s.body[k].kind == Stmt::Let) let(s.body[k].value);
          else reduce(s.body[k]);
        fn_->index[static_cast<size_t>(t.axis)] = i;
        block(t.body);
        Values x = pieces(value(t.value));
        llvm::Align align(static_cast<uint64_t>(size_bytes(c.type)));
        for (int p = 0; p < num_pieces(); ++p)
          b_.CreateAlignedStore(combined(t, load_columns(c, row, p), to_accumulator(t, x[static_cast<size_t>(p)])), step_address(c, row, p), align);
      });
    };
    clear(total, none);
    if (!is_ordered(t)) {
      Loop l = open(i64(0), n, 1, {}, false);
      add(total, none, uniform(l.i, depth()));
      close(l);
      return total;
    }
    Columns lanes = column_rows(shape, kReduceLanes), pending = column_rows(shape, kPendingBlocks);
    Loop blocks = open(i64(0), n, kReduceBlock, {}, false);
    Value* limit = smin(n, b_.CreateAdd(blocks.i, i64(kReduceBlock)));
    Value* used = smin(b_.CreateSub(limit, blocks.i), i64(kReduceLanes));
    Loop empty = open(i64(0), used, 1, {}, false);
    clear(lanes, empty.i);
    close(empty);
    Loop rows = open(blocks.i, limit, 1, {}, false);
    add(lanes, b_.CreateAnd(rows.i, i64(kReduceLanes - 1)), uniform(rows.i, depth()));
    close(rows);
    // Lanes that no element reached would hold the identity, which changes nothing.
    Loop halve = open(i64(0), i64(5), 1, {}, false);
    static_assert(kReduceLanes == 1 << 5);
    Value* half = b_.CreateLShr(i64(kReduceLanes / 2), halve.i);
    Loop pair = open(i64(0), b_.CreateSub(smin(used, b_.CreateShl(half, 1)), half), 1, {}, false);
    each_column(lanes, pair.i, lanes, pair.i, lanes, b_.CreateAdd(pair.i, half), both);
    close(pair);
    close(halve);
    Value* number = b_.CreateUDiv(blocks.i, i64(kReduceBlock));
    Value* count = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, number);
    Value* carries = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt64Ty()}, {b_.CreateNot(number), b_.getFalse()});
    Loop carry = open(i64(0), carries, 1, {}, false);
    each_column(lanes, i64(0), pending, b_.CreateSub(b_.CreateSub(count, i64(1)), carry.i), lanes, i64(0), both);
    close(carry);
    each_column(pending, b_.CreateSub(count, carries), lanes, i64(0), lanes, none, copy);
    close(blocks);
    // All blocks, from the last to the first.
    Value* all = b_.CreateUDiv(b_.CreateAdd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, i64(0)), i64(kReduceBlock - 1)), i64(kReduceBlock));
    Value* waiting = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, all);
    If some = open_if(b_.CreateICmpSGT(waiting, i64(0)));
    Value* top = b_.CreateSub(waiting, i64(1));
    each_column(total, none, pending, top, pending, none, copy);
    Loop rest = open(i64(0), top, 1, {}, false);
    each_column(total, none, pending, b_.CreateSub(b_.CreateSub(top, i64(1)), rest.i), total, i64(0), both);
    close(rest);
    close_if(some);
    return total;
  }

  const loop::Kernel& k_;
  const std::string& name_;
  const Host& host_;
  llvm::Module& m_;
  llvm::LLVMContext& c_;
  llvm::IRBuilder<> b_;
  Arithmetic a_;
  std::deque<Val> vals_;
  Function* fn_ = nullptr;
  Step* step_ = nullptr;
  std::map<int, Columns> totals_;  // of reductions that have run before the region's steps
  std::vector<NativeObject::Call> calls_;
};

}  // namespace

std::vector<NativeObject::Call> emit_kernel(const loop::Kernel& kernel, const std::string& name, const Host& host, llvm::Module& module) {
  return Emitter(kernel, name, host, module).run();
}

}  // namespace sheaf::codegen::native
