// Emits reductions: along the vector axis, and inside a region.
#include "codegen/llvm/emitter.h"
#include "loop/regions.h"

namespace sheaf::codegen::native {

constexpr int64_t kWave = 2048;  // blocks of a reduction whose totals are buffered, then combined in order

void Emitter::reduce(const Stmt& s) {
  bool position = s.combine == Combine::ArgMax || s.combine == Combine::ArgMin;
  if (!step_ && loop::is_region(k_, s)) {
    Value* r = position ? position_along(s) : value_along(s);
    end_region(s);
    fn_->result[static_cast<size_t>(s.id)] = uniform(r, depth());
    return;
  }
  if (auto known = totals_.find(s.id); step_ && known != totals_.end()) {
    Val out{Val::Varying, depth()};
    for (int p = 0; p < num_pieces(); ++p)
      out.pieces.push_back(from_accumulator(s, load_columns(known->second, nullptr, p)));
    fn_->result[static_cast<size_t>(s.id)] = make(std::move(out));
    return;
  }
  Values r = position ? position_inside(s) : is_ordered(s) ? ordered_inside(s) : unordered_inside(s);
  Val out{step_ ? Val::Varying : Val::Uniform, depth(), r[0]};
  if (step_) out.pieces = std::move(r);
  fn_->result[static_cast<size_t>(s.id)] = make(std::move(out));
}

bool Emitter::is_ordered(const Stmt& s) const {
  DType d = k_.reduction_types[static_cast<size_t>(s.id)];
  return (d == DType::F32 || d == DType::F64) && (s.combine == Combine::Sum || s.combine == Combine::Prod);
}

// Several axes that are reduced as one: the extent is the product of their sizes, and the body divides the index by
// them.
namespace {
bool is_factor(const loop::Kernel& k, ValueId product, ValueId v) {
  const Inst& i = k.values[product];
  return product == v || (i.op == Op::Mul && (is_factor(k, i.args[0], v) || is_factor(k, i.args[1], v)));
}
ValueId divisor_of_index(const loop::Kernel& k, const Stmt& s) {
  for (const Stmt& t : s.body) {
    if (t.kind != Stmt::Let || k.values[t.value].op != Op::FloorDiv) continue;
    const Inst& i = k.values[t.value];
    const Inst& x = k.values[i.args[0]];
    if (x.op == Op::Index && x.imm == s.axis && is_factor(k, s.extent, i.args[1])) return i.args[1];
  }
  return loop::kNoValue;
}
}  // namespace

bool Emitter::is_axis_quotient(ValueId v) const {
  const Inst& i = k_.values[v];
  if (!axes_ || i.op != Op::FloorDiv || !is_factor(k_, axes_->reduction->extent, i.args[1])) return false;
  const Inst& x = k_.values[i.args[0]];
  return x.op == Op::Index ? x.imm == axes_->reduction->axis : is_axis_quotient(i.args[0]);
}

// Divides indices by multiplying with the reciprocal in f64, which represents indices exactly; corrects the quotient,
// which is off by at most one. Processors have no vector division of 64-bit integers.
Value* Emitter::quotient(Value* x, Val* by) {
  Value* over = [&] {
    At at(*this, by->depth);
    return b_.CreateFDiv(llvm::ConstantFP::get(b_.getDoubleTy(), 1.0), b_.CreateSIToFP(by->scalar, b_.getDoubleTy()));
  }();
  const int lanes = x->getType()->isVectorTy() ? step_->lanes : 1;
  Value* size = a_.splat(by->scalar, lanes);
  Value* near = b_.CreateFMul(b_.CreateSIToFP(x, a_.type(DType::F64, lanes)), a_.splat(over, lanes));
  Value* q = b_.CreateFPToSI(near, x->getType());
  Value* rest = b_.CreateSub(x, b_.CreateMul(q, size));
  q = b_.CreateAdd(q, b_.CreateZExt(b_.CreateICmpSGE(rest, size), x->getType()));
  return b_.CreateAdd(q,
                      b_.CreateSExt(b_.CreateICmpSLT(rest, llvm::Constant::getNullValue(x->getType())), x->getType()));
}

Val* Emitter::axis_quotient(Val* x, Val* by) {
  if (axes_->quotient && x->kind == Val::Affine) return uniform(axes_->quotient, depth());
  Val out{Val::Varying, depth()};
  for (Value* e : pieces(x))
    out.pieces.push_back(quotient(e, by));
  return make(std::move(out));
}

// Emits the elements from `first` on of a reduction that is a region. If it reduces several axes, most steps stay
// within one row of the last axis: the quotient is then uniform, and the elements are loaded as those of a single axis.
Values Emitter::elements(const Stmt& s, int pieces_wanted, int lanes, Value* first) {
  const ValueId divisor = divisor_of_index(k_, s);
  if (divisor == loop::kNoValue) return elements_of_axis(s, pieces_wanted, lanes, first);
  Val* by = value(divisor);
  Value *q = quotient(first, by), *rest = b_.CreateSub(first, b_.CreateMul(q, by->scalar));
  Value* within = b_.CreateICmpSLE(b_.CreateAdd(rest, i64(int64_t{pieces_wanted} * lanes)), by->scalar);
  BasicBlock *inner = new_block("within"), *across = new_block("across"), *join = new_block("join");
  llvm::Instruction* branch = b_.CreateCondBr(within, inner, across);
  std::vector<Values> found;
  std::vector<BasicBlock*> from;
  for (BasicBlock* block : {inner, across}) {
    ReducedAxes axes{&s, block == inner ? q : nullptr};
    push_scope(branch, block, -1);
    axes_ = &axes;
    found.push_back(elements_of_axis(s, pieces_wanted, lanes, first));
    axes_ = nullptr;
    from.push_back(b_.GetInsertBlock());
    b_.CreateBr(join);
    pop_scope();
  }
  b_.SetInsertPoint(join);
  Values out;
  for (size_t p = 0; p < found[0].size(); ++p) {
    llvm::PHINode* phi = b_.CreatePHI(found[0][p]->getType(), 2);
    for (size_t way = 0; way < 2; ++way)
      phi->addIncoming(found[way][p], from[way]);
    out.push_back(phi);
  }
  return out;
}

Values Emitter::elements_of_axis(const Stmt& s, int pieces_wanted, int lanes, Value* first) {
  BasicBlock* next = new_block("elements");
  push_scope(b_.CreateBr(next), next, fn_->scopes.back().loads);
  Iterations st{pieces_wanted, lanes, first, depth()};
  step_ = &st;
  fn_->index[static_cast<size_t>(s.axis)] = make({Val::Affine, depth(), nullptr, constant(0), constant(1)});
  block(s.body);
  Values out = pieces(value(s.value));
  for (Value*& x : out)
    x = to_accumulator(s, x);
  step_ = nullptr;
  pop_scope();
  return out;
}

// Tree reduction of the lanes: combines lane i with lane i + half until one is left.
Value* Emitter::halved(const Stmt& s, Values x) {
  for (size_t half = x.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      x[i] = combined(s, x[i], x[i + half]);
  Value* v = x[0];
  for (int half = host_.lanes / 2; half > 0; half /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (int i = 0; i < half; ++i)
      low.push_back(i), high.push_back(half + i);
    if (half == 1)
      v = combined(s, b_.CreateExtractElement(v, uint64_t{0}), b_.CreateExtractElement(v, uint64_t{1}));
    else
      v = combined(s, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
  }
  return v;
}

StackRows Emitter::rows(DType d, int n, int pieces, int lanes) {
  return {stack_array(a_.type(d), int64_t{n} * pieces * lanes), d, pieces, lanes};
}

Value* Emitter::row_address(const StackRows& r, Value* i, int p) {
  Value* at = b_.CreateAdd(b_.CreateMul(i, i64(int64_t{r.pieces} * r.lanes)), i64(int64_t{p} * r.lanes));
  return element(a_.type(r.type), r.memory, at);
}

Values Emitter::load_row(const StackRows& r, Value* i) {
  Values out;
  for (int p = 0; p < r.pieces; ++p)
    out.push_back(b_.CreateAlignedLoad(a_.type(r.type, r.lanes), row_address(r, i, p),
                                       llvm::Align(static_cast<uint64_t>(size_bytes(r.type)))));
  return out;
}

void Emitter::store_row(const StackRows& r, Value* i, const Values& x) {
  for (int p = 0; p < r.pieces; ++p)
    b_.CreateAlignedStore(x[static_cast<size_t>(p)], row_address(r, i, p),
                          llvm::Align(static_cast<uint64_t>(size_bytes(r.type))));
}

Values Emitter::combined(const Stmt& s, const Values& x, const Values& y) {
  Values out;
  for (size_t i = 0; i < x.size(); ++i)
    out.push_back(combined(s, x[i], y[i]));
  return out;
}

// Adds a block result to `pending`: one row of pieces for each set bit of the number of blocks so far, like the carries
// of a binary counter.
void Emitter::push_block(const Stmt& s, const StackRows& pending, Value* blocks, Values total) {
  Value* count = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, blocks);
  Value* carries = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt64Ty()}, {b_.CreateNot(blocks), b_.getFalse()});
  Loop l = open(i64(0), carries, 1, total, false);
  Value* from = b_.CreateSub(b_.CreateSub(count, i64(1)), l.i);
  total = close(l, combined(s, load_row(pending, from), carried(l)));
  store_row(pending, b_.CreateSub(count, carries), total);
}

Values Emitter::pop_blocks(const Stmt& s, const StackRows& pending, Value* n) {
  Value* blocks = b_.CreateUDiv(b_.CreateAdd(n, i64(kReduceBlock - 1)), i64(kReduceBlock));
  Value* last = b_.CreateSub(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, blocks), i64(1));
  Loop l = open(i64(0), last, 1, load_row(pending, last), false);
  Value* from = b_.CreateSub(b_.CreateSub(last, i64(1)), l.i);
  return close(l, combined(s, load_row(pending, from), carried(l)));
}

// Emits the outer loop of a reduction over blocks; block_total(base, limit) emits the total of elements [base, limit).
Values Emitter::by_blocks(const Stmt& s, int pieces, int lanes,
                          llvm::function_ref<Values(Value*, Value*)> block_total) {
  DType d = accumulator(s);
  Value* n = value(s.extent)->scalar;
  StackRows pending = rows(d, kPendingBlocks, pieces, lanes);
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
Value* Emitter::value_along(const Stmt& s) {
  bool shared = !fn_->parent && depth() == 1;
  Value* total =
      shared ? total_of_shared_blocks(s)
             : by_blocks(s, 1, 1, [&](Value* base, Value* limit) { return Values{block_total(s, base, limit)}; })[0];
  return from_accumulator(s, total);
}

// At the top level, threads split the blocks, one wave of kWave blocks at a time; the totals of a wave are then
// combined in order.
Value* Emitter::total_of_shared_blocks(const Stmt& s) {
  DType d = accumulator(s);
  Value* blocks =
      b_.CreateUDiv(b_.CreateAdd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value(s.extent)->scalar, i64(0)),
                                 i64(kReduceBlock - 1)),
                    i64(kReduceBlock));
  Value *totals = stack_array(a_.type(d), kWave), *identity = a_.identity(s.combine, d);
  Value* ns = b_.CreateFMul(work(s, true), llvm::ConstantFP::get(b_.getDoubleTy(), double{kReduceBlock}));
  StackRows pending = rows(d, kPendingBlocks, 1, 1);
  Loop wave = open(i64(0), blocks, kWave, {}, false);
  Value* count = smin(i64(kWave), b_.CreateSub(blocks, wave.i));
  fork(count, i64(1), ns, [&](Value* first, Value* last) {
    Value *to = capture(totals), *before = capture(wave.i), *n = value(s.extent)->scalar;
    Loop l = open(first, last, 1, {}, false);
    Value* base = b_.CreateMul(b_.CreateAdd(before, l.i), i64(kReduceBlock));
    b_.CreateStore(block_total(s, base, smin(n, b_.CreateAdd(base, i64(kReduceBlock)))), element(a_.type(d), to, l.i));
    close(l);
    end_region(s);
  });
  Loop each = open(i64(0), count, 1, {}, false);
  push_block(s, pending, b_.CreateAdd(wave.i, each.i),
             {b_.CreateLoad(a_.type(d), element(a_.type(d), totals, each.i))});
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

// The total of elements [base, limit), at most one block; the 32 lanes are held in a few vector registers.
Value* Emitter::block_total(const Stmt& s, Value* base, Value* limit) {
  DType d = accumulator(s);
  int lanes = host_.lanes, pieces = kReduceLanes / lanes, together = std::min(pieces, pieces_of(s));
  bool move_loads = !loop::contains_store(s.body);
  StackRows memory = rows(d, 1, pieces, lanes);
  Values identity(static_cast<size_t>(pieces), a_.splat(a_.identity(s.combine, d), lanes));
  Value* full = b_.CreateAdd(base, b_.CreateAnd(b_.CreateSub(limit, base), i64(-kReduceLanes)));
  Loop wide = open(base, full, kReduceLanes, identity, move_loads);
  Values acc = carried(wide);
  for (int p = 0; p < pieces; p += together) {
    asked_elements_ = p == 0 ? kReduceLanes : 0;
    Values x = elements(s, together, lanes, b_.CreateAdd(wide.i, i64(p * lanes)));
    asked_elements_ = 0;
    for (int q = 0; q < together; ++q)
      acc[static_cast<size_t>(p + q)] = combined(s, acc[static_cast<size_t>(p + q)], x[static_cast<size_t>(q)]);
  }
  acc = close(wide, acc);
  // Remainder of fewer than 32 elements: runs at most once.
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

// ArgMax and ArgMin along the vector axis: each lane keeps its best element, the first of equals; then the lanes are
// compared.
Value* Emitter::position_along(const Stmt& s) {
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
      for (int l = 0; l < count; ++l)
        numbers.push_back(llvm::cast<llvm::Constant>(i64(l)));
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
    for (size_t p = 0; p < half; ++p)
      better(state[p], state[count + p], state[p + half], state[count + p + half]);
  Values one{state[0], state[count]};
  part(wide, narrow, 1, lanes, one);
  Value *best = b_.CreateExtractElement(one[0], uint64_t{0}), *position = b_.CreateExtractElement(one[1], uint64_t{0});
  for (int l = 1; l < lanes; ++l)
    better(best, position, b_.CreateExtractElement(one[0], static_cast<uint64_t>(l)),
           b_.CreateExtractElement(one[1], static_cast<uint64_t>(l)));
  Values last{best, position};
  part(narrow, n, 1, 1, last);
  return last[1];
}

// A reduction inside a region, or around loops: `add` emits the update by one element for each iteration of the region.
void Emitter::inside(const Stmt& s, Value* from, Value* to, Values& state,
                     llvm::function_ref<void(Values&, const Values&, Value*)> add) {
  auto element = [&] {
    Values x = pieces(value(s.value));
    for (Value*& e : x)
      e = to_accumulator(s, e);
    return x;
  };
  if (row_length_) return each_element(s, [&](Value* number) { add(state, element(), number); });
  Loop l = open(from, to, 1, state, !loop::contains_store(s.body));
  fn_->index[static_cast<size_t>(s.axis)] = uniform(l.i, depth());
  block(s.body);
  Values now = carried(l);
  add(now, element(), l.i);
  state = close(l, now);
}

Values Emitter::unordered_inside(const Stmt& s) {
  Values state(static_cast<size_t>(num_pieces()), a_.splat(a_.identity(s.combine, accumulator(s)), num_lanes()));
  inside(s, i64(0), value(s.extent)->scalar, state,
         [&](Values& now, const Values& x, Value*) { now = combined(s, now, x); });
  for (Value*& x : state)
    x = from_accumulator(s, x);
  return state;
}

Values Emitter::position_inside(const Stmt& s) {
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

// For operations whose bits depend on the order: a row of memory for each of the 32 lanes.
Values Emitter::ordered_inside(const Stmt& s) {
  if (row_length_) return ordered_elements(s);
  DType d = accumulator(s);
  StackRows lanes = rows(d, kReduceLanes, num_pieces(), num_lanes());
  Values identity(static_cast<size_t>(num_pieces()), a_.splat(a_.identity(s.combine, d), num_lanes()));
  return by_blocks(s, num_pieces(), num_lanes(), [&](Value* base, Value* limit) {
    Values none;
    Value* first = smin(limit, b_.CreateAdd(base, i64(kReduceLanes)));
    inside(s, base, first, none, [&](Values&, const Values& x, Value* i) {
      store_row(lanes, b_.CreateSub(i, base), combined(s, identity, x));
    });
    inside(s, first, limit, none, [&](Values&, const Values& x, Value* i) {
      Value* row = b_.CreateAnd(i, i64(kReduceLanes - 1));
      store_row(lanes, row, combined(s, load_row(lanes, row), x));
    });
    // Skips lanes without elements: they would hold the identity.
    Value* used = b_.CreateSub(first, base);
    for (int half = kReduceLanes / 2; half > 0; half /= 2) {
      Loop l = open(i64(0), b_.CreateSub(smin(used, i64(2 * half)), i64(half)), 1, {}, false);
      store_row(lanes, l.i, combined(s, load_row(lanes, l.i), load_row(lanes, b_.CreateAdd(l.i, i64(half)))));
      close(l);
    }
    return load_row(lanes, i64(0));
  });
}

}  // namespace sheaf::codegen::native
