// Loops over short rows, vectorized across rows: one row per lane. A reduction of five numbers would leave most lanes
// of its own axis idle, and its main, one-vector and remainder loops would cost more than the additions.
//
// Rows of a known length are unrolled completely. If the rows are contiguous, the elements that a step reads are
// consecutive: they are loaded as whole vectors and deinterleaved by their number in the row, in registers.
#include "codegen/llvm/emitter.h"
#include "loop/regions.h"

namespace sheaf::codegen::native {
namespace {

constexpr int kPiecesOfRows = 2;  // for rows of unknown length, or of fewer elements than this
constexpr int64_t kFewElements = 3;

// The coefficient of an index in a value; -1 if it is not a constant.
int64_t growth(const loop::Kernel& k, ValueId v, int axis) {
  const Inst& i = k.values[v];
  if (i.op == Op::Index) return i.imm == axis;
  if (i.op == Op::Const || i.op == Op::Size || i.op == Op::Result) return 0;
  int64_t x[3] = {};
  bool grows = false;
  for (int a = 0; a < 3; ++a)
    if (i.args[a] != loop::kNoValue) grows |= (x[a] = growth(k, i.args[a], axis)) != 0;
  if (!grows) return 0;
  return i.op == Op::Add && x[0] >= 0 && x[1] >= 0 ? x[0] + x[1] : -1;
}

// The values of a body that depend on its index.
std::vector<ValueId> varying(const loop::Kernel& k, const Stmt& s) {
  std::set<ValueId> found;
  for (const Stmt& t : s.body)
    if (t.kind == Stmt::Let)
      for (ValueId a : k.values[t.value].args)
        if (a != loop::kNoValue && (found.count(a) || (k.values[a].op == Op::Index && k.values[a].imm == s.axis)))
          found.insert(t.value);
  return {found.begin(), found.end()};
}

bool loads_come_first(const loop::Kernel& k, const Block& b) {
  bool stored = false;
  for (const Stmt& s : b) {
    if (stored && s.kind == Stmt::Let && k.values[s.value].op == Op::Load) return false;
    stored |= s.kind == Stmt::Store;
  }
  return true;
}

// Shuffles: lane l of the result is element place(l) of the concatenation of `x`.
Value* picked(llvm::IRBuilderBase& b, const Values& x, int lanes, llvm::function_ref<int(int lane)> place) {
  Value* out = x[0];
  for (int n = 0; n < static_cast<int>(x.size()); ++n) {
    if (n == 0 && x.size() > 1) continue;  // shuffled together with the next
    llvm::SmallVector<int, 16> mask;
    for (int l = 0; l < lanes; ++l) {
      int from = place(l) / lanes, at = place(l) % lanes;
      bool first = n <= 1 && from == 0;
      mask.push_back(first ? at : from == n ? lanes + at : from < n ? l : -1);
    }
    out = b.CreateShuffleVector(out, x[static_cast<size_t>(n)], mask);
  }
  return out;
}

// Deinterleaves contiguous rows: vector i of the result has element i of each row.
Values by_number(llvm::IRBuilderBase& b, const Values& x, int lanes) {
  int n = static_cast<int>(x.size());
  Values out(x.size());
  if (n == 1) return x;
  if (n % 2 == 0) {
    for (int odd : {0, 1}) {
      Values half;
      for (size_t i = 0; i < x.size(); i += 2)
        half.push_back(picked(b, {x[i], x[i + 1]}, lanes, [&](int l) { return 2 * l + odd; }));
      half = by_number(b, half, lanes);
      for (size_t i = 0; i < half.size(); ++i)
        out[2 * i + static_cast<size_t>(odd)] = half[i];
    }
    return out;
  }
  for (int i = 0; i < n; ++i)
    out[static_cast<size_t>(i)] = picked(b, x, lanes, [&](int l) { return l * n + i; });
  return out;
}

// The inverse of by_number: interleaves.
Values end_to_end(llvm::IRBuilderBase& b, const Values& x, int lanes) {
  int n = static_cast<int>(x.size());
  Values out(x.size());
  if (n == 1) return x;
  if (n % 2 == 0) {
    Values halves[2];
    for (size_t i = 0; i < x.size(); ++i)
      halves[i % 2].push_back(x[i]);
    for (Values& half : halves)
      half = end_to_end(b, half, lanes);
    for (size_t i = 0; i < x.size(); ++i)
      out[i] = picked(b, {halves[0][i / 2], halves[1][i / 2]}, lanes, [&](int l) {
        int at = static_cast<int>(i % 2) * lanes + l;
        return at % 2 * lanes + at / 2;
      });
    return out;
  }
  for (int i = 0; i < n; ++i)
    out[static_cast<size_t>(i)] = picked(b, x, lanes, [&](int l) {
      int at = i * lanes + l;
      return at % n * lanes + at / n;
    });
  return out;
}

}  // namespace

bool Emitter::walks_short_rows(const Stmt& s) const {
  ValueId extent = loop::row_extent(k_, s);
  if (extent == loop::kNoValue) return false;
  const Inst& i = k_.values[extent];
  if (i.op == Op::Const) return i.imm > 1 && i.imm <= loop::kShortRow;
  if (i.op != Op::Min) return false;
  const Inst& limit = k_.values[i.args[1]];
  return limit.op == Op::Const && limit.imm <= loop::kShortRow;
}

void Emitter::short_rows(const Stmt& s) {
  const Inst& extent = k_.values[loop::row_extent(k_, s)];
  int64_t length = extent.op == Op::Const ? extent.imm : 0;
  auto run = [&](Val* begin, Val* end) {
    row_length_ = length;
    int pieces = length >= kFewElements ? 1 : kPiecesOfRows;
    steps(s, begin, end, pieces, !loop::contains_store(s.body), [&] { block(s.body); });
    row_length_ = 0;
  };
  if (s.mark != loop::Mark::Parallel || fn_->parent) return run(constant(0), value(s.extent));
  fork(value(s.extent)->scalar, i64(kMinRange), work(s, true),
       [&](Value* first, Value* last) { run(uniform(first, 0), uniform(last, 0)); });
}

void Emitter::each_element(const Stmt& s, llvm::function_ref<void(Value* number)> f) {
  RowElement e{s.axis, 0, step_->lanes > 1 && loads_come_first(k_, s.body), {}, {}};
  const std::vector<ValueId> mine = varying(k_, s);
  int loads = loop::contains_store(s.body) ? -1 : depth();
  element_ = &e;
  for (; e.number < row_length_; ++e.number) {
    BasicBlock* next = new_block("element");
    push_scope(b_.CreateBr(next), next, loads);
    fn_->index[static_cast<size_t>(s.axis)] = uniform(i64(e.number), depth());
    block(s.body);
    f(i64(e.number));
    pop_scope();
    // Forget the values of this element. The builder folds "+ 0", so such an offset may live in an outer scope, which
    // pop_scope() does not clear.
    for (ValueId v : mine)
      fn_->values[v] = nullptr;
  }
  element_ = nullptr;
}

bool Emitter::is_end_to_end(ValueId offset, const Val* v) const {
  return element_ && element_->regroups && v->kind == Val::Affine && is_constant(v->stride, row_length_) &&
         growth(k_, offset, element_->axis) == 1;
}

// The address of vector `i` of the contiguous rows of piece p; `offset` is that of the current element.
Value* Emitter::end_to_end_address(int64_t buffer_number, Val* offset, int p, int64_t i) {
  llvm::Type* type = a_.memory_type(k_.buffers[static_cast<size_t>(buffer_number)].dtype);
  Value* first = b_.CreateMul(b_.CreateAdd(step_->first, i64(int64_t{p} * step_->lanes)), i64(row_length_));
  Value* at = b_.CreateSub(b_.CreateAdd(b_.CreateAdd(offset->base->scalar, first), i64(i * step_->lanes)),
                           i64(element_->number));
  return element(type, buffer(buffer_number), at);
}

Values Emitter::load_end_to_end(ValueId v, Val* offset) {
  std::vector<Values>& known = element_->loaded[v];
  const Inst& inst = k_.values[v];
  if (known.empty()) {
    known.resize(static_cast<size_t>(row_length_));
    llvm::Align align(static_cast<uint64_t>(size_bytes(inst.type)));
    for (int p = 0; p < num_pieces(); ++p) {
      Values x;
      for (int64_t i = 0; i < row_length_; ++i)
        x.push_back(b_.CreateAlignedLoad(a_.memory_type(inst.type, num_lanes()),
                                         end_to_end_address(inst.imm, offset, p, i), align));
      x = by_number(b_, x, num_lanes());
      for (size_t i = 0; i < x.size(); ++i)
        known[i].push_back(x[i]);
    }
  }
  return known[static_cast<size_t>(element_->number)];
}

void Emitter::store_end_to_end(const Stmt& s, Val* offset, const Values& x) {
  std::vector<Values>& waiting = element_->stored[&s];
  waiting.push_back(x);
  if (static_cast<int64_t>(waiting.size()) < row_length_) return;
  llvm::Align align(static_cast<uint64_t>(size_bytes(k_.buffers[static_cast<size_t>(s.id)].dtype)));
  for (int p = 0; p < num_pieces(); ++p) {
    Values row;
    for (const Values& w : waiting)
      row.push_back(w[static_cast<size_t>(p)]);
    row = end_to_end(b_, row, num_lanes());
    for (int64_t i = 0; i < row_length_; ++i)
      b_.CreateAlignedStore(row[static_cast<size_t>(i)], end_to_end_address(s.id, offset, p, i), align);
  }
}

// An ordered reduction of an unrolled row. Skips lanes (of ir.h) without elements: they would hold the identity.
Values Emitter::ordered_elements(const Stmt& s) {
  Values none,
      identity(static_cast<size_t>(num_pieces()), a_.splat(a_.identity(s.combine, accumulator(s)), num_lanes()));
  std::vector<Values> lanes;
  inside(s, nullptr, nullptr, none,
         [&](Values&, const Values& x, Value*) { lanes.push_back(combined(s, identity, x)); });
  size_t used = lanes.size();
  for (size_t half = kReduceLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half && i + half < used; ++i)
      lanes[i] = combined(s, lanes[i], lanes[i + half]);
    used = std::min(used, half);
  }
  return lanes[0];
}

}  // namespace sheaf::codegen::native
