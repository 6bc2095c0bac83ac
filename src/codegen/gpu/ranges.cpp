#include "codegen/gpu/ranges.h"

#include <algorithm>
#include <cmath>

#include "scalar/scalar_ops.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::kNoValue;
using loop::Op;
using loop::Stmt;
using loop::ValueId;

constexpr double kExact = 0x1p52;

ValueRange exact(double low, double high) {
  if (!(low >= -kExact && high <= kExact)) return {};
  return {low, high};
}
// The same where one bound may be unknown.
ValueRange bounded(double low, double high) {
  return {low >= -kExact ? low : -ValueRange::kInfinite, high <= kExact ? high : ValueRange::kInfinite};
}
bool is_known(const ValueRange& r) { return r.low >= -kExact && r.high <= kExact; }
bool divides_plainly(const ValueRange& a, const ValueRange& b) { return is_known(a) && a.low >= 0 && b.low >= 1; }

}  // namespace

Ranges::Ranges(const loop::Kernel& k, std::span<const int64_t> sizes) : k_(k), ranges_(k.values.size()) {
  for (size_t v = 0; v < k.values.size(); ++v) {
    const loop::Inst& inst = k.values[v];
    if (inst.type != DType::I64) continue;
    if (inst.op == Op::Index) indices_[inst.imm].push_back(static_cast<ValueId>(v));
    if (inst.op != Op::Const && inst.op != Op::Size) continue;
    const auto x = static_cast<double>(inst.op == Op::Const ? inst.imm : sizes[static_cast<size_t>(inst.imm)]);
    ranges_[v] = exact(x, x);
  }
  block(k.body);
}

void Ranges::block(const loop::Block& b) {
  for (const Stmt& s : b) {
    if (s.kind == Stmt::Let) ranges_[s.value] = range(k_.values[s.value]);
    if (s.extent != kNoValue)
      for (ValueId v : indices_[s.axis])
        ranges_[v] = bounded(0, std::max(0.0, ranges_[s.extent].high - 1));
    block(s.body);
  }
}

ValueRange Ranges::range(const loop::Inst& inst) const {
  if (inst.type != DType::I64) return {};
  auto of = [&](int i) { return inst.args[i] == kNoValue ? ValueRange() : ranges_[inst.args[i]]; };
  const ValueRange a = of(0), b = of(1), c = of(2);
  switch (inst.op) {
    case Op::Add: return exact(a.low + b.low, a.high + b.high);
    case Op::Sub: return exact(a.low - b.high, a.high - b.low);
    case Op::Mul: {
      if (!is_known(a) || !is_known(b)) return {};
      auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      return exact(low, high);
    }
    case Op::FloorDiv:
      return divides_plainly(a, b) ? exact(std::floor(a.low / b.high), std::floor(a.high / b.low)) : ValueRange();
    case Op::FloorMod: return b.low >= 1 ? bounded(0, std::min(a.low < 0 ? b.high : a.high, b.high - 1)) : ValueRange();
    case Op::Min: return bounded(std::min(a.low, b.low), std::min(a.high, b.high));
    case Op::Max: return bounded(std::max(a.low, b.low), std::max(a.high, b.high));
    case Op::Select: return bounded(std::min(b.low, c.low), std::max(b.high, c.high));
    default: return {};
  }
}

bool Ranges::is_plain(ValueId v) const {
  const loop::Inst& inst = k_.values[v];
  if (inst.type != DType::I64) return false;
  switch (inst.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul: return is_known(ranges_[v]);
    case Op::FloorDiv:
    case Op::FloorMod: return divides_plainly(ranges_[inst.args[0]], ranges_[inst.args[1]]);
    default: return false;
  }
}

std::optional<int64_t> evaluate(const loop::Kernel& k, ValueId v, std::span<const int64_t> sizes) {
  const loop::Inst& inst = k.values[v];
  if (inst.op == Op::Const) return inst.imm;
  if (inst.op == Op::Size) return sizes[static_cast<size_t>(inst.imm)];
  int64_t x[3] = {};
  for (int i = 0; i < 3; ++i)
    if (inst.args[i] != kNoValue) {
      std::optional<int64_t> known = evaluate(k, inst.args[i], sizes);
      if (!known) return {};
      x[i] = *known;
    }
  using scalar::apply;
  switch (inst.op) {
    case Op::Add: return apply<Op::Add>(x[0], x[1]);
    case Op::Sub: return apply<Op::Sub>(x[0], x[1]);
    case Op::Mul: return apply<Op::Mul>(x[0], x[1]);
    case Op::FloorDiv: return apply<Op::FloorDiv>(x[0], x[1]);
    case Op::FloorMod: return apply<Op::FloorMod>(x[0], x[1]);
    case Op::Min: return std::min(x[0], x[1]);
    case Op::Max: return std::max(x[0], x[1]);
    case Op::Select: return x[0] ? x[1] : x[2];
    case Op::Lt: return x[0] < x[1];
    case Op::Le: return x[0] <= x[1];
    case Op::Gt: return x[0] > x[1];
    case Op::Ge: return x[0] >= x[1];
    case Op::Eq: return x[0] == x[1];
    case Op::Ne: return x[0] != x[1];
    default: return {};
  }
}

}  // namespace sheaf::codegen::gpu
