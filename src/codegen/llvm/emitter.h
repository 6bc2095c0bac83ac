// Emits an LLVM function for a kernel. Internal to emit*.cpp, and the one header that includes LLVM's.
//
// 1. Regions (loop/regions.h) run as vector code: a main loop unrolled to several *pieces* (vectors) of `lanes`
//    elements, a loop of one piece, and a scalar remainder loop. Everything else is scalar code. No IR pass runs
//    afterwards: the code generator sees the emitted IR, in SSA form, with only the lanes of reductions in memory.
// 2. Values inside a region are uniform (the same for all its iterations), affine (i64, base + i * stride with uniform
//    base and stride) or varying (one vector for each piece). Affine values are expanded only if the elements are
//    needed; loads and stores of stride 1 are vector accesses, of stride 0 a splat, others go lane by lane.
// 3. A pure value is emitted in the outermost *scope* where its operands are known; this is the only hoisting. Every
//    loop has two scopes: a preheader that runs once if the loop runs at all, for loads, and the body.
// 4. The body of a parallel loop is outlined to a function; values that it uses from outside are passed in an array.
// 5. Reductions keep the lanes and blocks of ir.h: in vector registers along their own axis; as rows of an array if
//    they run inside a region. Reductions of whole columns read memory row by row: loops over rows around loops over
//    columns, then the rest of the region with the totals. Loops over short rows are regions too: one row per lane.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <deque>
#include <map>
#include <set>

#include "codegen/llvm/abi.h"
#include "codegen/llvm/arithmetic.h"
#include "codegen/llvm/emit.h"
#include "loop/ir.h"

namespace sheaf::codegen::native {

using llvm::BasicBlock;
using llvm::Value;
using loop::Block;
using loop::Combine;
using loop::Inst;
using loop::kReduceBlock;
using loop::kReduceLanes;
using loop::Op;
using loop::Stmt;
using loop::ValueId;
using Values = std::vector<Value*>;

// Pieces of a step (unroll factor): enough independent work for the pipelines, few enough that the live values fit in
// the registers.
constexpr int kPieces = 4;
constexpr int64_t kMinRange = 256;  // least iterations of a region in a range of a thread
constexpr int64_t kLineBytes = 64;  // of a cache line
constexpr int kPendingBlocks = 40;  // levels of the binary counter of blocks: more than any memory needs

// A value of the kernel in the function being emitted.
struct Val {
  enum Kind : uint8_t { Uniform, Affine, Varying } kind;
  int depth;                               // the scope it is known in
  Value* scalar = nullptr;                 // Uniform
  Val *base = nullptr, *stride = nullptr;  // Affine
  Values pieces;                           // Varying; Affine once the elements were needed
  std::map<int, Value*> splats;            // Uniform: by lanes
};

inline bool is_constant(const Val* v, int64_t x) {
  auto* c = v->kind == Val::Uniform ? llvm::dyn_cast<llvm::ConstantInt>(v->scalar) : nullptr;
  return c && c->getSExtValue() == x;
}

struct Scope {
  llvm::Instruction* resume = nullptr;  // insertion point for this scope while an inner one is open
  std::vector<ValueId> values;          // defined in this scope
  int loads = -1;                       // the outer scope that loads of this one may be hoisted to, or -1
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
  Values captured;        // in the parent
  bool bypasses = false;  // contains streaming stores
};

// The iterations of a region for which code is being emitted: pieces * lanes of them from `first` on.
struct Iterations {
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

// Rows of pieces on the stack.
struct StackRows {
  Value* memory;
  DType type;
  int pieces, lanes;
};

// Rows of accumulators for the columns from `first` on.
struct Columns {
  Value *memory, *first;
  DType type;
  Value* used;  // columns of a row, rounded up to whole steps; the padding is computed and never read
};

// The element of short rows for which code is being emitted.
struct RowElement {
  int axis;
  int64_t number;
  // True if contiguous rows are loaded as whole vectors at the first element and stored at the last.
  bool regroups;
  std::map<ValueId, std::vector<Values>> loaded;  // by number
  std::map<const Stmt*, std::vector<Values>> stored;
};

// The reduction over several collapsed axes for which code is being emitted. `quotient`: its index divided by the size
// of the last axis if that is the same for a whole step, else null.
struct ReducedAxes {
  const Stmt* reduction;
  Value* quotient;
};

class Emitter {
 public:
  Emitter(const loop::Kernel& k, const std::string& name, const EmitTarget& host, llvm::Module& m);
  std::vector<NativeObject::Call> run();

 private:
  // --- emit.cpp: functions, scopes, loops ---

  // RAII: while it lives, code is inserted into the scope of this depth.
  struct At {
    llvm::IRBuilderBase::InsertPointGuard guard;
    At(Emitter& e, int depth) : guard(e.b_) {
      if (depth < e.depth()) e.b_.SetInsertPoint(e.fn_->scopes[static_cast<size_t>(depth)].resume);
    }
  };

  void begin(Function& f, llvm::Function* code);
  BasicBlock* new_block(const char* name) { return BasicBlock::Create(c_, name, fn_->code); }
  int depth() const { return static_cast<int>(fn_->scopes.size()) - 1; }
  void push_scope(llvm::Instruction* resume, BasicBlock* next, int loads);
  void pop_scope();
  // Opens a loop over [begin, end) by `step`, which divides the distance. `initial`: the loop-carried values at entry.
  Loop open(Value* begin, Value* end, int64_t step, Values initial, bool move_loads);
  // Closes the loop; `next`: the carried values of the next iteration. Returns the carried values after the loop.
  Values close(Loop& l, const Values& next = {});
  static Values carried(const Loop& l) { return Values(l.carried.begin(), l.carried.end()); }
  If open_if(Value* condition);
  // Closes the branch; returns `then` if it was taken, else `otherwise` (a phi).
  Value* close_if(If& f, Value* then = nullptr, Value* otherwise = nullptr);

  Value* i64(int64_t x) { return b_.getInt64(static_cast<uint64_t>(x)); }
  Value* stack_array(llvm::Type* type, int64_t n);
  Value* element(llvm::Type* type, Value* array, Value* i) { return b_.CreateGEP(type, array, i); }
  Value* smin(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }

  // --- emit.cpp: services ---

  Value* context_field(int i, llvm::Type* type) {
    return b_.CreateLoad(type, element(b_.getPtrTy(), fn_->context, i64(i)));
  }
  Value* service(Service s, llvm::Type* result, const Values& args, bool with_context);

  // --- emit.cpp: values ---

  Val* make(Val v);
  Val* uniform(Value* x, int depth) { return make({Val::Uniform, depth, x}); }
  Val* constant(int64_t x) { return uniform(i64(x), 0); }
  void define(ValueId v, Val* x);
  Val* value(ValueId v);
  Val* size(int64_t i);
  Value* buffer(int64_t i);
  Val* capture(ValueId v);
  // Makes a value of the parent available in the function being emitted.
  Value* capture(Value* outer);
  // i64 arithmetic on uniform values.
  Val* uniform(Op op, Val* x, Val* y);
  int num_pieces() const { return step_ ? step_->pieces : 1; }
  int num_lanes() const { return step_ ? step_->lanes : 1; }
  // The elements of a value in piece p of the current step.
  Value* piece(Val* v, int p);
  Values pieces(Val* v);

  // --- emit.cpp: statements, memory, checks and calls ---

  void block(const Block& b);
  void let(ValueId v);
  std::vector<bool> only_for_choice(ValueId seldom) const;
  Values seldom(ValueId v, const Values (&x)[3]);
  Val* affine(const Inst& inst, Val* const* arg);
  void addresses(int64_t number, Val* offset, llvm::function_ref<void(Value* address, int piece, int lane)> f);
  Val* load(ValueId v, Val* offset);
  void ask_early(int64_t number, Value* address);
  void store(const Stmt& s);
  void check(const Stmt& s);
  void end_region(const Stmt& s);
  void call(const Stmt& s);

  // --- emit_bypass.cpp ---

  Value* should_bypass(const Stmt& s, const Val* offset, Value* address);
  void store_or_bypass(Value* bypass, const Values& x, const Values& addresses, llvm::Align align);
  void finish_bypassing();

  // --- emit.cpp: loops ---

  void loop(const Stmt& s);
  void any_loop(const Stmt& s);
  void serial_loop(const Stmt& s, Value* begin, Value* end);
  int pieces_of(const Stmt& s) const;
  void region_loop(const Stmt& s, Val* begin, Val* end);
  // Emits `body` for the iterations [begin, end) of a region: a loop of several pieces at a time, then of one piece,
  // then of single iterations.
  void steps(const Stmt& s, Val* begin, Val* end, int pieces, bool move_loads, llvm::function_ref<void()> body);
  void outlined(const Stmt& s, bool region);
  // Emits a parallel loop of n iterations; `body` emits the code for the range from its first argument to its second.
  void fork(Value* n, Value* minimum, Value* ns, llvm::function_ref<void(Value* first, Value* last)> body);
  // Emits code that computes the estimated nanoseconds of one iteration.
  Value* work(const Stmt& s, bool region);

  // --- emit_reduce.cpp ---

  void reduce(const Stmt& s);
  bool is_ordered(const Stmt& s) const;
  DType accumulator(const Stmt& s) const {
    return ArithmeticEmitter::accumulator(k_.reduction_types[static_cast<size_t>(s.id)]);
  }
  Value* to_accumulator(const Stmt& s, Value* x) {
    return a_.convert(x, k_.reduction_types[static_cast<size_t>(s.id)], accumulator(s));
  }
  Value* from_accumulator(const Stmt& s, Value* x) {
    return a_.convert(x, accumulator(s), k_.reduction_types[static_cast<size_t>(s.id)]);
  }
  Value* combined(const Stmt& s, Value* x, Value* y) { return a_.combine(s.combine, accumulator(s), x, y); }
  Values combined(const Stmt& s, const Values& x, const Values& y);
  bool is_axis_quotient(ValueId v) const;
  Value* quotient(Value* x, Val* by);
  Val* axis_quotient(Val* x, Val* by);
  Values elements(const Stmt& s, int pieces_wanted, int lanes, Value* first);
  Values elements_of_axis(const Stmt& s, int pieces_wanted, int lanes, Value* first);
  Value* halved(const Stmt& s, Values x);
  StackRows rows(DType d, int n, int pieces, int lanes);
  Value* row_address(const StackRows& r, Value* i, int p);
  Values load_row(const StackRows& r, Value* i);
  void store_row(const StackRows& r, Value* i, const Values& x);
  void push_block(const Stmt& s, const StackRows& pending, Value* blocks, Values total);
  Values pop_blocks(const Stmt& s, const StackRows& pending, Value* n);
  Values by_blocks(const Stmt& s, int pieces, int lanes,
                   llvm::function_ref<Values(Value* base, Value* limit)> block_total);
  Value* value_along(const Stmt& s);
  Value* total_of_shared_blocks(const Stmt& s);
  Value* block_total(const Stmt& s, Value* base, Value* limit);
  Value* position_along(const Stmt& s);
  void inside(const Stmt& s, Value* from, Value* to, Values& state,
              llvm::function_ref<void(Values& now, const Values& x, Value* i)> add);
  Values unordered_inside(const Stmt& s);
  Values position_inside(const Stmt& s);
  Values ordered_inside(const Stmt& s);

  // --- emit_rows.cpp ---

  bool walks_short_rows(const Stmt& s) const;
  void short_rows(const Stmt& s);
  // Unrolls the body of a loop or reduction over rows of known length; `f` emits code after each element.
  void each_element(const Stmt& s, llvm::function_ref<void(Value* number)> f);
  // True if an access in each_element's body is to contiguous rows.
  bool is_end_to_end(ValueId offset, const Val* v) const;
  Value* end_to_end_address(int64_t buffer_number, Val* offset, int p, int64_t i);
  Values load_end_to_end(ValueId v, Val* offset);
  void store_end_to_end(const Stmt& s, Val* offset, const Values& x);
  Values ordered_elements(const Stmt& s);

  // --- emit_columns.cpp ---

  // True if the reductions of a region can run before the rest: nothing but values comes before them or is inside them.
  static bool reduces_columns(const Stmt& s);
  void columns(const Stmt& s, Val* begin, Val* end);
  Value* column_address(const Columns& c, Value* row, Value* column);
  Value* step_address(const Columns& c, Value* row, int p);
  Value* load_columns(const Columns& c, Value* row, int p);
  void each_column(const Columns& to, Value* row, const Columns& cx, Value* x, const Columns& cy, Value* y,
                   llvm::function_ref<Value*(Value* x, Value* y)> f);
  // The least number of columns per thread.
  Value* column_range(const Stmt& s);
  Columns column_rows(Columns like, int64_t rows);
  // fork, with `totals_` captured so that the body can use them.
  void fork_columns(Value* n, Value* ns, llvm::function_ref<void(Value* first, Value* last)> body);
  Columns captured(const Columns& c) { return {capture(c.memory), capture(c.first), c.type, capture(c.used)}; }
  Columns column_totals(const Stmt& s, const Stmt& t, size_t before, Val* first, Val* last, const Columns& shape);

  const loop::Kernel& k_;
  const std::string& name_;
  const EmitTarget& host_;
  llvm::Module& m_;
  llvm::LLVMContext& c_;
  llvm::IRBuilder<> b_;
  ArithmeticEmitter a_;
  std::deque<Val> vals_;
  Function* fn_ = nullptr;
  Iterations* step_ = nullptr;
  std::vector<const Stmt*> nest_;  // the enclosing loops, outermost first
  int64_t row_length_ = 0;         // length of the rows if each lane holds a row of known length; else 0
  RowElement* element_ = nullptr;
  ReducedAxes* axes_ = nullptr;
  int64_t asked_elements_ = 0;     // elements in a step of a reduction whose first loads prefetch; else 0
  std::set<int64_t> asked_for_;    // buffers for which a reduction already prefetches
  std::map<int, Columns> totals_;  // of reductions that ran before the region's steps
  std::vector<NativeObject::Call> calls_;
};

}  // namespace sheaf::codegen::native
