// Column reductions: a region whose iterations are the columns of a matrix, reduced over its rows.
#include "codegen/llvm/emitter.h"
#include "loop/regions.h"

namespace sheaf::codegen::native {

// Columns reduced together, in bytes of a row. If that covers whole rows, memory is read sequentially, more than twice
// as fast as parts of rows; 32 rows of accumulators stay in L2, and in L1 if rows are short.
constexpr int64_t kColumnBytes = 8192;
// If rows are shorter than kWideRow columns and there are at least kManyRows, threads split the rows, not the columns.
constexpr int64_t kWideRow = 8192, kManyRows = 256, kMinColumns = 256;
constexpr int64_t kBlocksTogether = 16;  // whose totals are buffered, then combined in order

bool Emitter::reduces_columns(const Stmt& s) {
  if (s.mark != loop::Mark::Vector) return false;
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

Value* Emitter::column_address(const Columns& c, Value* row, Value* column) {
  return element(a_.type(c.type), c.memory, row ? b_.CreateAdd(b_.CreateMul(row, c.used), column) : column);
}

// The accumulators of piece p of the current step.
Value* Emitter::step_address(const Columns& c, Value* row, int p) {
  Value* column = b_.CreateAdd(b_.CreateSub(step_->first, c.first), i64(int64_t{p} * step_->lanes));
  return column_address(c, row, column);
}

Value* Emitter::load_columns(const Columns& c, Value* row, int p) {
  return b_.CreateAlignedLoad(a_.type(c.type, step_->lanes), step_address(c, row, p),
                              llvm::Align(static_cast<uint64_t>(size_bytes(c.type))));
}

// Emits row `row` of `to` = f(row `x` of cx, row `y` of cy), elementwise by pieces; rows that f does not use are null.
void Emitter::each_column(const Columns& to, Value* row, const Columns& cx, Value* x, const Columns& cy, Value* y,
                          llvm::function_ref<Value*(Value*, Value*)> f) {
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

void Emitter::columns(const Stmt& s, Val* begin, Val* end) {
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
    if (t.kind == Stmt::Reduce)
      totals_.emplace(t.id, column_totals(s, t, before, first, last, {nullptr, l.i, accumulator(t), used}));
    ++before;
  }
  steps(s, first, last, pieces_of(s), !loop::contains_store(s.body), [&] { block(s.body); });
  for (const Stmt& t : s.body)
    if (t.kind == Stmt::Reduce) totals_.erase(t.id);
  close(l);
}

Value* Emitter::column_range(const Stmt& s) {
  Value *n = value(s.extent)->scalar, *shared = b_.CreateICmpSLT(n, i64(kWideRow));
  for (const Stmt& t : s.body)
    if (t.kind == Stmt::Reduce)
      shared = b_.CreateAnd(shared,
                            is_ordered(t) ? b_.CreateICmpSGE(value(t.extent)->scalar, i64(kManyRows)) : b_.getFalse());
  return b_.CreateSelect(shared, n, i64(kMinColumns));
}

void Emitter::fork_columns(Value* n, Value* ns, llvm::function_ref<void(Value*, Value*)> body) {
  std::map<int, Columns> outside = totals_;
  fork(n, i64(1), ns, [&](Value* first, Value* last) {
    for (auto& [id, columns] : totals_)
      columns = captured(columns);
    body(first, last);
  });
  totals_ = std::move(outside);
}

Columns Emitter::column_rows(Columns like, int64_t rows) {
  like.memory = stack_array(a_.type(like.type), rows * kColumnBytes / size_bytes(like.type));
  return like;
}

// Emits the totals of reduction `t`, statement number `before` of region `s`, for the columns [first, last).
Columns Emitter::column_totals(const Stmt& s, const Stmt& t, size_t before, Val* first, Val* last,
                               const Columns& shape) {
  Columns total = column_rows(shape, 1);
  Value* n = value(t.extent)->scalar;
  Value* none = nullptr;
  auto clear = [&](const Columns& c, Value* row) {
    Value* identity = a_.splat(a_.identity(t.combine, c.type), host_.lanes);
    each_column(c, row, c, none, c, none, [&](Value*, Value*) { return identity; });
  };
  auto both = [&](Value* x, Value* y) { return combined(t, x, y); };
  auto copy = [](Value* x, Value*) { return x; };
  // Adds element `i` of the columns [from, to) to a row.
  auto add = [&](const Columns& c, Value* row, Val* i, Val* from, Val* to) {
    steps(s, from, to, pieces_of(t), true, [&] {
      for (size_t k = 0; k < before; ++k)
        if (s.body[k].kind == Stmt::Let)
          let(s.body[k].value);
        else
          reduce(s.body[k]);
      fn_->index[static_cast<size_t>(t.axis)] = i;
      block(t.body);
      Values x = pieces(value(t.value));
      llvm::Align align(static_cast<uint64_t>(size_bytes(c.type)));
      for (int p = 0; p < num_pieces(); ++p)
        b_.CreateAlignedStore(combined(t, load_columns(c, row, p), to_accumulator(t, x[static_cast<size_t>(p)])),
                              step_address(c, row, p), align);
    });
  };
  clear(total, none);
  if (!is_ordered(t)) {
    Loop l = open(i64(0), n, 1, {}, false);
    add(total, none, uniform(l.i, depth()), first, last);
    close(l);
    return total;
  }
  Columns pending = column_rows(shape, kPendingBlocks), waiting = column_rows(shape, kBlocksTogether);
  auto real = [&](Value* x) { return b_.CreateSIToFP(x, b_.getDoubleTy()); };
  Value* all =
      b_.CreateUDiv(b_.CreateAdd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, i64(0)), i64(kReduceBlock - 1)),
                    i64(kReduceBlock));
  Value* row_ns = b_.CreateFDiv(b_.CreateFMul(work(s, true), real(shape.used)), real(n));
  Loop wave = open(i64(0), all, kBlocksTogether, {}, false);
  Value* together = smin(i64(kBlocksTogether), b_.CreateSub(all, wave.i));
  // Threads split the blocks; if there is only one block, its 32 independent lanes: each thread reads some of every 32
  // rows.
  fork_columns(together, b_.CreateFMul(row_ns, real(i64(kReduceBlock))), [&](Value* first_block, Value* last_block) {
    Columns to = captured(waiting), lanes = column_rows(to, kReduceLanes);
    Value *n = value(t.extent)->scalar, *before = capture(wave.i), *lane_ns = capture(row_ns),
          *end = capture(last->scalar);
    Loop each = open(first_block, last_block, 1, {}, false);
    Value* base = b_.CreateMul(b_.CreateAdd(before, each.i), i64(kReduceBlock));
    Value* rows = smin(b_.CreateSub(n, base), i64(kReduceBlock));
    Value* used = smin(rows, i64(kReduceLanes));
    Loop empty = open(i64(0), used, 1, {}, false);
    clear(lanes, empty.i);
    close(empty);
    fork_columns(i64(kReduceLanes), b_.CreateFMul(lane_ns, real(b_.CreateLShr(rows, 5))),
                 [&](Value* first_lane, Value* last_lane) {
                   Columns to = captured(lanes);
                   Value *begin = capture(base), *limit = b_.CreateAdd(begin, capture(rows));
                   Val *from = uniform(to.first, 0), *until = uniform(capture(end), 0);
                   Loop turn = open(begin, limit, kReduceLanes, {}, false);
                   Loop row = open(b_.CreateAdd(turn.i, first_lane), smin(limit, b_.CreateAdd(turn.i, last_lane)), 1,
                                   {}, false);
                   add(to, b_.CreateAnd(row.i, i64(kReduceLanes - 1)), uniform(row.i, depth()), from, until);
                   close(row);
                   close(turn);
                 });
    // Skips lanes without elements: they would hold the identity.
    Loop halve = open(i64(0), i64(5), 1, {}, false);
    static_assert(kReduceLanes == 1 << 5);
    Value* half = b_.CreateLShr(i64(kReduceLanes / 2), halve.i);
    Loop pair = open(i64(0), b_.CreateSub(smin(used, b_.CreateShl(half, 1)), half), 1, {}, false);
    each_column(lanes, pair.i, lanes, pair.i, lanes, b_.CreateAdd(pair.i, half), both);
    close(pair);
    close(halve);
    each_column(to, each.i, lanes, i64(0), lanes, none, copy);
    close(each);
  });
  Loop push = open(i64(0), together, 1, {}, false);
  Value* number = b_.CreateAdd(wave.i, push.i);
  Value* count = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, number);
  Value* carries = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt64Ty()}, {b_.CreateNot(number), b_.getFalse()});
  Loop carry = open(i64(0), carries, 1, {}, false);
  each_column(waiting, push.i, pending, b_.CreateSub(b_.CreateSub(count, i64(1)), carry.i), waiting, push.i, both);
  close(carry);
  each_column(pending, b_.CreateSub(count, carries), waiting, push.i, waiting, none, copy);
  close(push);
  close(wave);
  // Combines the pending blocks, from the last to the first.
  Value* left = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, all);
  If some = open_if(b_.CreateICmpSGT(left, i64(0)));
  Value* top = b_.CreateSub(left, i64(1));
  each_column(total, none, pending, top, pending, none, copy);
  Loop rest = open(i64(0), top, 1, {}, false);
  each_column(total, none, pending, b_.CreateSub(b_.CreateSub(top, i64(1)), rest.i), total, i64(0), both);
  close(rest);
  close_if(some);
  return total;
}

}  // namespace sheaf::codegen::native
