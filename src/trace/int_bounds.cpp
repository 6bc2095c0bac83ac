#include "trace/int_bounds.h"

#include <algorithm>
#include <bit>

#include "ops/apply.h"
#include "trace/context.h"

namespace sheaf::trace {
namespace {

using graph::IntRange;
using graph::Node;
using graph::Operand;

bool is_unsigned(DType d) { return d == DType::U32 || d == DType::U16 || d == DType::U8; }

int bits_of(int64_t n) { return std::bit_width(n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n)); }

// The zero past the end of an array of one: a check that fused code keeps, on the way of the value.
Operand failing_if(const Operand& wrong, const Operand& y) {
  return ops::apply2(
      "add", y,
      ops::take(Operand(zeros_tensor(y.dtype(), {1})), ops::cast(wrong, DType::I64), 0, "integer overflow", false));
}

IntRange range_of_dtype(DType d) {
  if (d == DType::Bool) return {0, 1};
  int bits = size_bytes(d) * 8;
  if (is_inexact(d) || bits == 64) return {};
  int64_t values = int64_t{1} << bits;
  return is_unsigned(d) ? IntRange{0, values - 1} : IntRange{-values / 2, values / 2 - 1};
}

// An argument of the function that is traced: its bound becomes a condition for using the code.
IntRange range_of_argument(const Node* n) {
  constexpr int64_t kEnd = int64_t{1} << kArgumentBits;
  TraceContext& c = TraceContext::current_context()->outermost();
  for (size_t i = 0; i < c.inputs.size() && i < c.current.size(); ++i) {
    if (c.inputs[i].get() != n) continue;
    if (!c.current[i].is_int() || bits_of(c.current[i].as_int()) > kArgumentBits) return {};
    c.small_ints.push_back(i);
    return {1 - kEnd, kEnd - 1};
  }
  return {};
}

IntRange range_of_node(const Node& n) {
  IntRange of_dtype = range_of_dtype(n.types[0].dtype), range;
  if (n.op->role == graph::Role::Input)
    range = range_of_argument(&n);
  else if (n.op->range)
    range = n.op->range({n.inputs, int_range});
  return range.lo < of_dtype.lo || range.hi > of_dtype.hi ? of_dtype : range;
}

}  // namespace

IntRange int_range(const Operand& x) {
  if (is_inexact(x.dtype())) return {};
  if (!x.is_node()) {
    int64_t v = element_as_int(x.value(), 0);
    return {v, v};
  }
  const Node& n = *x.node();
  TraceContext* c = TraceContext::current_context();
  if (!c || x.rank() != 0 || n.types.size() != 1) return range_of_dtype(x.dtype());
  auto& known = c->outermost().int_ranges;
  if (auto it = known.find(&n); it != known.end()) return it->second;
  return known[&n] = range_of_node(n);
}

int int_bits(const Operand& x) {
  IntRange r = int_range(x);
  return std::max(bits_of(r.lo), bits_of(r.hi));
}

void bound_int(const Operand& x, int64_t largest) {
  if (TraceContext* c = TraceContext::current_context(); c && x.is_node())
    c->outermost().int_ranges[x.node().get()] = {-largest, largest};
}

Operand checked_int(const graph::OpDef& op, const Operand& a, const Operand& b, const Operand& y) {
  constexpr int kSafeBits = 62;
  if (!y.is_node() || y.has_value() || int_bits(y) <= kSafeBits) return y;
  return failing_if(op.wrapped(a, b, y), y);
}

bool holds_int(DType d, int64_t v) {
  IntRange r = range_of_dtype(d);
  return r.lo <= v && v <= r.hi;
}

bool surely_holds(DType d, const Operand& x) {
  if (x.has_value()) return holds_int(d, element_as_int(x.value(), 0));
  return d == DType::I64 || (d == DType::I32 && int_bits(x) <= kArgumentBits);
}

Operand checked_narrow(const Operand& x, DType d) {
  Operand y = ops::cast(x, d);
  return failing_if(ops::apply1("bit_not", ops::apply2("eq", ops::cast(y, DType::I64), x)), y);
}

Operand checked_whole(const Operand& x) {
  return failing_if(ops::apply1("bit_not", ops::equal(ops::apply1("floor", x), x)), ops::cast(x, DType::I64));
}

}  // namespace sheaf::trace
