#include "loop/regions.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sheaf::loop {
namespace {

constexpr double kUnknownExtent = 64;

template <class Is>
bool contains(const Block& b, Is is) {
  return std::any_of(b.begin(), b.end(), [&](const Stmt& s) { return is(s) || contains(s.body, is); });
}

std::vector<bool> values_inside(const Kernel& k, const Block& b) {
  std::vector<bool> inside(k.values.size(), false);
  std::function<void(const Block&)> mark = [&](const Block& block) {
    for (const Stmt& s : block) {
      if (s.kind == Stmt::Let) inside[s.value] = true;
      mark(s.body);
    }
  };
  mark(b);
  return inside;
}

// True if the value is known where the block starts.
bool is_outside(const Kernel& k, const std::vector<bool>& inside, ValueId v) {
  Op op = k.values[v].op;
  return !inside[v] && op != Op::Index && op != Op::Result;
}

// The extent as a value known where the block starts: itself or, for the extent min(tile, rest) of a tiled loop, the
// full size of a tile.
ValueId known_extent(const Kernel& k, const std::vector<bool>& inside, ValueId extent) {
  if (is_outside(k, inside, extent)) return extent;
  const Inst& v = k.values[extent];
  if (v.op == Op::Min)
    for (int i : {0, 1})
      if (is_outside(k, inside, v.args[i])) return v.args[i];
  return kNoValue;
}

bool fits(const Kernel& k, const Stmt& s) {
  std::vector<bool> inside = values_inside(k, s.body);
  return !contains(s.body, [&](const Stmt& t) {
    if (t.kind == Stmt::Call || (t.kind == Stmt::Loop && t.mark == Mark::Vector)) return true;
    return t.extent != kNoValue && !is_outside(k, inside, t.extent);
  });
}

}  // namespace

bool is_region(const Kernel& k, const Stmt& s) {
  if (s.kind == Stmt::Reduce)
    return !contains(
        s.body, [](const Stmt& t) { return t.kind == Stmt::Loop || t.kind == Stmt::Reduce || t.kind == Stmt::Call; });
  if (s.mark == Mark::Vector) return fits(k, s);
  return s.mark == Mark::Parallel && !contains(s.body, [](const Stmt& t) { return t.kind == Stmt::Reduce; }) &&
         fits(k, s);
}

ValueId row_extent(const Kernel& k, const Stmt& s) {
  if (s.kind != Stmt::Loop || (s.mark != Mark::Parallel && s.mark != Mark::Free)) return kNoValue;
  auto is_flat = [](const Stmt& t) { return t.kind == Stmt::Let || t.kind == Stmt::Store; };
  std::vector<bool> inside = values_inside(k, s.body);
  ValueId extent = kNoValue;
  bool reduces = false;
  for (const Stmt& t : s.body) {
    if (is_flat(t)) continue;
    bool row = t.kind == Stmt::Reduce || (t.kind == Stmt::Loop && t.mark == Mark::Vector);
    if (!row || !std::all_of(t.body.begin(), t.body.end(), is_flat) || !is_outside(k, inside, t.extent))
      return kNoValue;
    if (extent != kNoValue && t.extent != extent) return kNoValue;
    extent = t.extent;
    reduces |= t.kind == Stmt::Reduce;
  }
  return reduces ? extent : kNoValue;
}

bool contains_store(const Block& b) {
  return contains(b, [](const Stmt& s) { return s.kind == Stmt::Store || s.kind == Stmt::Call; });
}
bool contains_check(const Block& b) {
  return contains(b, [](const Stmt& s) { return s.kind == Stmt::Check; });
}

std::vector<WorkTerm> work_of(const Kernel& k, const Stmt& s, bool region, const WorkRates& rates) {
  std::vector<WorkTerm> terms;
  std::vector<bool> inside = values_inside(k, s.body);
  std::function<void(const Block&, std::vector<ValueId>, double, bool)> walk =
      [&](const Block& b, std::vector<ValueId> extents, double scale, bool in_region) {
        double ns = in_region ? 0 : rates.scalar;
        for (const Stmt& t : b) {
          if (t.kind == Stmt::Let && k.values[t.value].op >= Op::Exp)
            ns += rates.elementary;
          else if (t.kind == Stmt::Call)
            ns += rates.call;
          else if (t.kind != Stmt::Loop && t.kind != Stmt::Reduce)
            ns += in_region ? rates.element : rates.scalar;
          else {
            std::vector<ValueId> inner = extents;
            double times = 1;
            if (ValueId extent = known_extent(k, inside, t.extent); extent != kNoValue)
              inner.push_back(extent);
            else
              times = kUnknownExtent;
            bool vector = t.kind == Stmt::Reduce || t.mark == Mark::Vector;
            if (vector && !in_region) ns += rates.start * static_cast<double>(t.body.size() + 2);
            walk(t.body, inner, scale * times, in_region || vector);
          }
        }
        terms.push_back({ns * scale, extents});
      };
  walk(s.body, {}, 1, region);
  return terms;
}

KernelWork::KernelWork(const Kernel& k, const WorkRates& rates) {
  for (const Stmt& s : k.body) {
    if (s.extent == kNoValue) continue;
    for (const WorkTerm& w : work_of(k, s, is_region(k, s), rates)) {
      Term term{w.ns, {number(k, s.extent)}};
      for (ValueId e : w.extents)
        term.numbers.push_back(number(k, e));
      terms_.push_back(std::move(term));
    }
  }
}

size_t KernelWork::number(const Kernel& k, ValueId id) {
  if (auto it = known_.find(id); it != known_.end()) return it->second;
  const Inst& v = k.values[id];
  Number n{v.op, v.imm, 0, 0};
  switch (v.op) {
    case Op::Const:
    case Op::Size: break;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::FloorDiv:
    case Op::Min:
    case Op::Max:
      n.a = number(k, v.args[0]);
      n.b = number(k, v.args[1]);
      break;
    default: n = {Op::Const, 1, 0, 0};
  }
  numbers_.push_back(n);
  return known_[id] = numbers_.size() - 1;
}

double KernelWork::ns(std::span<const int64_t> sizes) const {
  std::vector<double> x;
  x.reserve(numbers_.size());
  for (const Number& n : numbers_) {
    double a = x.empty() ? 0 : x[n.a], b = x.empty() ? 0 : x[n.b];
    switch (n.op) {
      case Op::Size: x.push_back(static_cast<double>(sizes[static_cast<size_t>(n.imm)])); break;
      case Op::Add: x.push_back(a + b); break;
      case Op::Sub: x.push_back(a - b); break;
      case Op::Mul: x.push_back(a * b); break;
      case Op::FloorDiv: x.push_back(b == 0 ? 0 : std::floor(a / b)); break;
      case Op::Min: x.push_back(std::min(a, b)); break;
      case Op::Max: x.push_back(std::max(a, b)); break;
      default: x.push_back(static_cast<double>(n.imm));
    }
  }
  double total = 0;
  for (const Term& t : terms_) {
    double ns = t.ns;
    for (size_t i : t.numbers)
      ns *= x[i];
    total += ns;
  }
  return total;
}

}  // namespace sheaf::loop
