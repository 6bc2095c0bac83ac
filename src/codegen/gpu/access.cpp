#include "codegen/gpu/access.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

namespace sheaf::codegen::gpu {
namespace {

using loop::Inst;
using loop::kNoValue;
using loop::Op;
using loop::Stmt;
using loop::ValueId;

constexpr int kPieceBytes = 16;

// An offset as base + step * (loop variable). The base is a multiple of `multiple` (0: it is zero).
struct Affine {
  bool known = false;
  int64_t step = 0, multiple = 0;
};

struct Analysis {
  const loop::Kernel& k;
  const Ranges* ranges;  // where values must be plain too
  std::span<const int64_t> sizes;
  int axis;

  Affine of(ValueId v) const {
    const Inst& inst = k.values[v];
    switch (inst.op) {
      case Op::Const: return {true, 0, std::abs(inst.imm)};
      case Op::Size: return {true, 0, sizes.empty() ? 1 : std::abs(sizes[static_cast<size_t>(inst.imm)])};
      case Op::Index: return inst.imm == axis ? Affine{true, 1, 0} : Affine{true, 0, 1};
      case Op::Add:
      case Op::Sub:
      case Op::Mul: break;
      default: return {};
    }
    if (ranges && !ranges->is_plain(v)) return {};
    const Affine a = of(inst.args[0]), b = of(inst.args[1]);
    if (!a.known || !b.known) return {};
    if (inst.op != Op::Mul)
      return {true, inst.op == Op::Add ? a.step + b.step : a.step - b.step, std::gcd(a.multiple, b.multiple)};
    if (a.step == 0 && b.step == 0) return {true, 0, a.multiple * b.multiple};
    // A product with the loop variable: by a number.
    const Inst &x = k.values[inst.args[0]], &y = k.values[inst.args[1]];
    if (a.step != 0 && y.op == Op::Const) return {true, a.step * y.imm, a.multiple * std::abs(y.imm)};
    if (b.step != 0 && x.op == Op::Const) return {true, b.step * x.imm, b.multiple * std::abs(x.imm)};
    return {};
  }
};

// Equal where index `i` of one is index `j` of the other.
bool equal(const loop::Kernel& k, ValueId x, int i, ValueId y, int j) {
  if (x == kNoValue || y == kNoValue) return x == y;
  const Inst &a = k.values[x], &b = k.values[y];
  if (a.op == Op::Index && b.op == Op::Index && a.imm == i && b.imm == j) return true;
  if (x == y) return !depends_on(k, x, i);
  if (a.op != b.op || a.imm != b.imm || a.type != b.type || a.op == Op::Load || a.op == Op::Index || a.op == Op::Result)
    return false;
  for (size_t n = 0; n < 3; ++n)
    if (!equal(k, a.args[n], i, b.args[n], j)) return false;
  return true;
}

}  // namespace

bool depends_on(const loop::Kernel& k, ValueId v, int axis) {
  const Inst& inst = k.values[v];
  if (inst.op == Op::Index) return inst.imm == axis;
  return std::any_of(std::begin(inst.args), std::end(inst.args),
                     [&](ValueId a) { return a != kNoValue && depends_on(k, a, axis); });
}

bool equal(const loop::Kernel& k, ValueId x, ValueId y) { return equal(k, x, -1, y, -1); }

Step step_of(const loop::Kernel& k, ValueId offset, int axis) {
  if (!depends_on(k, offset, axis)) return Step::None;
  const Affine a = Analysis{k, nullptr, {}, axis}.of(offset);
  return a.known && a.step == 1 ? Step::One : a.known && a.step == 0 ? Step::None : Step::Other;
}

int piece_length(const loop::Kernel& k, const std::vector<const Stmt*>& body, int axis, const Ranges& ranges,
                 std::span<const int64_t> sizes) {
  const Analysis analysis{k, &ranges, sizes, axis};
  std::vector<bool> stored(k.buffers.size(), false);
  int widest = 0;
  int64_t multiple = 0;  // of which all that moves begins at one
  for (const Stmt* s : body) {
    if (s->kind != Stmt::Let && s->kind != Stmt::Store) return 1;
    const bool load = s->kind == Stmt::Let && k.values[s->value].op == Op::Load;
    if (s->kind == Stmt::Let && !load) continue;
    const auto buffer = static_cast<size_t>(load ? k.values[s->value].imm : s->id);
    const ValueId offset = load ? k.values[s->value].args[0] : s->offset;
    // Loads of a piece come before everything that is stored.
    if (load && stored[buffer]) return 1;
    if (!load) stored[buffer] = true;
    if (load && step_of(k, offset, axis) == Step::None) continue;
    const Affine a = analysis.of(offset);
    if (!a.known || a.step != 1) return 1;
    multiple = std::gcd(multiple, a.multiple);
    widest = std::max(widest, size_bytes(k.buffers[buffer].dtype));
  }
  int length = widest == 0 ? 1 : kPieceBytes / widest;
  while (multiple % length != 0)
    length /= 2;
  return length;
}

int vector_length(const loop::Kernel& k, const std::vector<const Stmt*>& nest, const Ranges& ranges,
                  std::span<const int64_t> sizes) {
  if (nest.empty()) return 1;
  const Stmt& inner = *nest.back();
  std::vector<const Stmt*> body;
  for (const Stmt& s : inner.body)
    body.push_back(&s);
  int length = piece_length(k, body, inner.axis, ranges, sizes);
  while (evaluate(k, inner.extent, sizes).value_or(1) % length != 0)
    length /= 2;
  return length;
}

namespace {

// Values of several loops over a row, numbered so that equal ones have equal numbers.
class RowValues {
 public:
  RowValues(const loop::Kernel& k, const std::vector<bool>& live) : k_(k), live_(live) {}

  std::vector<RowValue> run(const std::vector<const Stmt*>& loops) {
    for (const Stmt* loop : loops) {
      axis_ = loop->axis;
      own_.clear();
      for (const Stmt& s : loop->body)
        if (s.kind == Stmt::Let && live_[s.value]) own_.insert(s.value);
      for (const Stmt& s : loop->body)
        if (s.kind != Stmt::Let)
          for (ValueId v : {s.value, s.offset})
            if (v != kNoValue) visit(v);
      if (loop->kind == Stmt::Reduce) visit(loop->value);
      for (ValueId v : own_)
        first_.emplace(number(v), v);
    }
    std::vector<RowValue> out;
    for (auto& [n, value] : kept_)
      out.push_back(std::move(value));
    return out;
  }

 private:
  using Key = std::array<int64_t, 7>;

  int number(ValueId v) {
    const Inst& inst = k_.values[v];
    const bool own_index = inst.op == Op::Index && inst.imm == axis_;
    Key key{static_cast<int64_t>(inst.op),
            static_cast<int64_t>(inst.type),
            static_cast<int64_t>(inst.from),
            own_index ? -1 : inst.imm,
            -1,
            -1,
            -1};
    // What is written may change between two loops.
    if (inst.op == Op::Load && k_.buffers[static_cast<size_t>(inst.imm)].written) key[3] = -2 - int64_t{v};
    for (size_t i = 0; i < 3; ++i)
      if (inst.args[i] != kNoValue) key[4 + i] = number(inst.args[i]);
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

  // Whether computing it reads elements of the row that are not kept.
  bool reads(ValueId v) {
    if (!own_.count(v) || kept_.count(number(v))) return false;
    const Inst& inst = k_.values[v];
    if (inst.op == Op::Load && step_of(k_, inst.args[0], axis_) != Step::None) return true;
    return std::any_of(std::begin(inst.args), std::end(inst.args),
                       [&](ValueId a) { return a != kNoValue && reads(a); });
  }

  void visit(ValueId v) {
    if (!own_.count(v)) return;
    const int n = number(v);
    if (auto kept = kept_.find(n); kept != kept_.end()) {
      std::vector<ValueId>& later = kept->second.later;
      if (kept->second.first != v && std::find(later.begin(), later.end(), v) == later.end()) later.push_back(v);
      return;
    }
    if (auto first = first_.find(n); first != first_.end() && reads(v)) {
      kept_[n] = {first->second, {v}};
      return;
    }
    for (ValueId a : k_.values[v].args)
      if (a != kNoValue) visit(a);
  }

  const loop::Kernel& k_;
  const std::vector<bool>& live_;
  int axis_ = -1;
  std::set<ValueId> own_;  // of the loop at hand
  std::map<Key, int> numbers_;
  std::map<int, ValueId> first_;  // of earlier loops
  std::map<int, RowValue> kept_;
};

}  // namespace

std::vector<RowValue> row_values(const loop::Kernel& k, const std::vector<const Stmt*>& loops,
                                 const std::vector<bool>& live) {
  return RowValues(k, live).run(loops);
}

}  // namespace sheaf::codegen::gpu
