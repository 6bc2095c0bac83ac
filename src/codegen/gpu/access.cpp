#include "codegen/gpu/access.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

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

std::vector<RowLoad> row_loads(const loop::Kernel& k, const std::vector<const Stmt*>& loops) {
  struct Seen {
    ValueId load;
    int axis;
    size_t row;
  };
  std::vector<Seen> seen;
  std::vector<RowLoad> all;
  for (const Stmt* loop : loops)
    for (const Stmt& s : loop->body) {
      if (s.kind != Stmt::Let || k.values[s.value].op != Op::Load) continue;
      const Inst& inst = k.values[s.value];
      if (k.buffers[static_cast<size_t>(inst.imm)].written || step_of(k, inst.args[0], loop->axis) == Step::None)
        continue;
      auto same = std::find_if(seen.begin(), seen.end(), [&](const Seen& other) {
        const Inst& before = k.values[other.load];
        return before.imm == inst.imm && equal(k, before.args[0], other.axis, inst.args[0], loop->axis);
      });
      if (same == seen.end()) {
        seen.push_back({s.value, loop->axis, all.size()});
        all.push_back({{s.value}});
      } else {
        all[same->row].loads.push_back(s.value);
      }
    }
  std::erase_if(all, [](const RowLoad& r) { return r.loads.size() < 2; });
  return all;
}

}  // namespace sheaf::codegen::gpu
