#include "trace/int_bounds.h"

#include <algorithm>
#include <bit>

#include "ops/apply.h"
#include "trace/context.h"

namespace sheaf::trace {
namespace {

using graph::Node;
using graph::Operand;

int bits_of(int64_t n) { return std::bit_width(n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n)); }

// The zero behind the end of an array of one: a check that fused code keeps, on the way of the value.
Operand failing_if(const Operand& wrong, const Operand& y) {
  return ops::apply2(
      "add", y,
      ops::take(Operand(zeros_tensor(y.dtype(), {1})), ops::cast(wrong, DType::I64), 0, "integer overflow", false));
}

int bits_of_dtype(DType d) {
  if (is_float(d)) return kUnknownBits;
  return d == DType::Bool ? 0 : std::min<int>(size_bytes(d) * 8, kUnknownBits);
}

// An argument of the function that is traced: its bound becomes a condition for using the code.
int bits_of_argument(const Node* n) {
  Context& c = Context::current_context()->outermost();
  for (size_t i = 0; i < c.inputs.size() && i < c.current.size(); ++i) {
    if (c.inputs[i].get() != n) continue;
    if (!c.current[i].is_int() || bits_of(c.current[i].as_int()) > kArgumentBits) return kUnknownBits;
    c.small_ints.push_back(i);
    return kArgumentBits;
  }
  return kUnknownBits;
}

int bits_of_node(const Node& n) {
  std::string_view op = n.op->name;
  auto in = [&](size_t i) { return int_bits(n.inputs[i]); };
  int bits = kUnknownBits;
  if (op == "input")
    bits = bits_of_argument(&n);
  else if (op == "add" || op == "sub")
    bits = std::max(in(0), in(1)) + 1;
  else if (op == "mul")
    bits = in(0) + in(1);
  else if (op == "maximum" || op == "minimum")
    bits = std::max(in(0), in(1));
  else if (op == "neg" || op == "abs" || op == "floor_div")
    bits = in(0);
  else if (op == "mod")
    bits = in(1);
  else if (op == "where")
    bits = std::max(in(1), in(2));
  else if (op == "cast")
    bits = in(0);
  else if (op == "sizes")
    bits = 53;
  return std::min(bits, bits_of_dtype(n.types[0].dtype));
}

}  // namespace

int int_bits(const Operand& x) {
  if (!x.is_node()) return is_float(x.dtype()) ? kUnknownBits : bits_of(element_as_int(x.value(), 0));
  const Node& n = *x.node();
  Context* c = Context::current_context();
  if (!c || is_float(x.dtype()) || x.rank() != 0) return bits_of_dtype(x.dtype());
  auto& known = c->outermost().int_bits;
  if (auto it = known.find(&n); it != known.end()) return it->second;
  int bits = n.types.size() == 1 ? bits_of_node(n) : bits_of_dtype(x.dtype());
  if (n.types.size() == 1) known[&n] = bits;
  return bits;
}

void bound_int(const Operand& x, int64_t largest) {
  if (Context* c = Context::current_context(); c && x.is_node())
    c->outermost().int_bits[x.node().get()] = bits_of(largest);
}

Operand checked_int(std::string_view op, const Operand& a, const Operand& b, const Operand& y) {
  constexpr int kSafeBits = 62;
  if (!y.is_node() || y.has_value() || int_bits(y) <= kSafeBits) return y;
  Operand zero = ops::constant_int(DType::I64, 0);
  auto both = [](const Operand& p, const Operand& q) { return ops::apply2("bit_and", p, q); };
  auto negative = [&](const Operand& p) { return ops::apply2("lt", p, zero); };
  auto differ = [](const Operand& p, const Operand& q) { return ops::apply2("bit_xor", p, q); };
  Operand wrapped;
  if (op == "add") {
    wrapped = negative(both(differ(a, y), differ(b, y)));
  } else if (op == "sub") {
    wrapped = negative(both(differ(a, b), differ(a, y)));
  } else {
    // The quotient gives b back; of the least int by -1 it does too, but two negative factors have no negative product.
    Operand same = ops::apply2("eq", ops::apply2("floor_div", y, a), b);
    Operand wrong =
        ops::apply2("bit_or", ops::apply1("bit_not", same), both(negative(a), both(negative(b), negative(y))));
    wrapped = both(ops::apply1("bit_not", ops::apply2("eq", a, zero)), wrong);
  }
  return failing_if(wrapped, y);
}

bool holds_int(DType d, int64_t v) {
  int bits = size_bytes(d) * 8;
  if (bits == 64) return true;
  bool is_unsigned = d == DType::U32 || d == DType::U16 || d == DType::U8;
  int64_t end = int64_t{1} << (is_unsigned ? bits : bits - 1);
  return v < end && v >= (is_unsigned ? 0 : -end);
}

bool surely_holds(DType d, const Operand& x) {
  if (x.has_value()) return holds_int(d, element_as_int(x.value(), 0));
  return d == DType::I64 || (d == DType::I32 && int_bits(x) <= kArgumentBits);
}

Operand checked_narrow(const Operand& x, DType d) {
  Operand y = ops::cast(x, d);
  return failing_if(ops::apply1("bit_not", ops::apply2("eq", ops::cast(y, DType::I64), x)), y);
}

}  // namespace sheaf::trace
