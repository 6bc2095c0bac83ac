// Reductions of columns: a region whose iterations are the columns of a matrix that is reduced row by row.
#include "codegen/llvm/emitter.h"
#include "loop/regions.h"

namespace sheaf::codegen::native {

// Columns that are reduced together, in bytes of a row: a row that is touched should give several cache lines, and 32 rows
// of accumulators stay in the first-level cache.
constexpr int64_t kColumnBytes = 1024;

bool Emitter::reduces_columns(const Stmt& s) {
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
  return element(a_.type(c.type), c.memory, row ? b_.CreateAdd(b_.CreateMul(row, i64(c.width)), column) : column);
}

// The accumulators of piece p of the current step.
Value* Emitter::step_address(const Columns& c, Value* row, int p) {
  Value* column = b_.CreateAdd(b_.CreateSub(step_->first, c.first), i64(int64_t{p} * step_->lanes));
  return column_address(c, row, column);
}

Value* Emitter::load_columns(const Columns& c, Value* row, int p) {
  return b_.CreateAlignedLoad(a_.type(c.type, step_->lanes), step_address(c, row, p), llvm::Align(static_cast<uint64_t>(size_bytes(c.type))));
}

// row `to` = f(the same columns of row `x` of cx, and of row `y` of cy), piece by piece; rows that f does not use are null.
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
    if (t.kind == Stmt::Reduce) totals_.emplace(t.id, column_totals(s, t, before, first, last, {nullptr, l.i, accumulator(t), width, used}));
    ++before;
  }
  steps(s, first, last, pieces_of(s), !loop::contains_store(s.body), [&] { block(s.body); });
  for (const Stmt& t : s.body)
    if (t.kind == Stmt::Reduce) totals_.erase(t.id);
  close(l);
}

Columns Emitter::column_rows(Columns like, int64_t rows) {
  like.memory = stack_array(a_.type(like.type), rows * like.width);
  return like;
}

// The totals of reduction `t`, statement number `before` of region `s`, for the columns [first, last).
Columns Emitter::column_totals(const Stmt& s, const Stmt& t, size_t before, Val* first, Val* last, const Columns& shape) {
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

}  // namespace sheaf::codegen::native
