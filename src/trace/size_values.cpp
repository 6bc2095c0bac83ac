#include "trace/size_values.h"

#include <cmath>

#include "ops/table.h"
#include "trace/context.h"
#include "trace/traced.h"

namespace sheaf::trace {

using graph::Arrangement;
using graph::Attrs;
using graph::OpDef;
using graph::Operand;
using graph::SizeNumbers;
using graph::TensorType;

namespace {

constexpr int64_t kMaxNumbers = 16;

// The largest n such that a dtype represents all whole numbers up to n exactly; 0 for dtypes in which sizes are not
// tracked.
int64_t exact_up_to(DType d) {
  switch (d) {
    case DType::F32: return int64_t{1} << 24;
    case DType::I32: return INT32_MAX;
    case DType::U32: return UINT32_MAX;
    case DType::F64:
    case DType::I64: return int64_t{1} << 53;
    default: return 0;
  }
}

// The operand as whole numbers.
std::optional<SizeNumbers> numbers_of(const Operand& o) {
  if (o.rank() > 1) return std::nullopt;
  if (const Sizes* s = size_values(o)) return SizeNumbers{*s, o.rank() == 0};
  if (!o.has_value() || o.dtype() == DType::Bool || o.value().num_elems() > kMaxNumbers) return std::nullopt;
  SizeNumbers n{{}, o.rank() == 0};
  Tensor t = contiguous(o.value());
  for (int64_t i = 0; i < t.num_elems(); ++i) {
    double x = element_as_double(t, i);
    if (x != std::floor(x) || std::abs(x) > static_cast<double>(int64_t{1} << 53)) return std::nullopt;
    n.values.push_back(Size(static_cast<int64_t>(x)));
  }
  return n;
}

}  // namespace

const Sizes* size_values(const graph::Node& n) {
  return n.op->role == graph::Role::Sizes ? &n.attrs.sizes("values") : nullptr;
}
const Sizes* size_values(const Operand& o) { return o.is_node() ? size_values(*o.node()) : nullptr; }

Tensor known_numbers(const graph::Node& n) {
  Sizes values;
  for (Size s : *size_values(n))
    values.push_back(Size(s.value()));
  return sizes_operand(std::move(values), n.types[0].dtype, n.types[0].rank() == 0).value();
}

std::optional<Size> size_value(const Value& v) {
  if (!v.is_traced()) return std::nullopt;
  const Sizes* s = size_values(static_cast<Traced*>(v.object())->operand);
  return s && s->size() == 1 ? std::optional((*s)[0]) : std::nullopt;
}

namespace {

// The elements of a vector built by literals and `concat`, as separate operands.
void collect_parts(const Operand& o, std::vector<Operand>& parts) {
  const OpDef* op = o.is_node() && !size_values(o) ? o.node()->op : nullptr;
  bool is_same = op && (op->converts || op->arrangement == Arrangement::SameOrder) && o.node()->inputs[0].rank() <= 1;
  bool is_joined = op && op->arrangement == Arrangement::Joined;
  if (!is_same && !is_joined) return parts.push_back(o);
  for (const Operand& part : o.node()->inputs)
    collect_parts(part, parts);
}

// The value of a given number, with a guard: first on the argument itself, which may be left open later, else on the
// numbers it is computed from.
std::optional<SizeNumbers> guarded_number(const Operand& o) {
  TraceContext* context = TraceContext::current_context();
  if (!context || !o.is_node()) return std::nullopt;
  if (Value v = context->guarded_value(o.node().get()); v.is_int()) return SizeNumbers{{Size(v.as_int())}, true};
  auto now = context->guarded_scalar(o);
  return now ? numbers_of(Operand(*now)) : std::nullopt;
}

}  // namespace

std::optional<Sizes> mixed_extents(const Operand& o) {
  if (o.rank() != 1 || !o.is_node()) return std::nullopt;
  std::vector<Operand> parts;
  collect_parts(o, parts);
  bool any = false;
  for (const Operand& part : parts)
    any |= size_values(part) != nullptr;
  if (!any) return std::nullopt;
  Sizes out;
  for (const Operand& part : parts) {
    auto n = numbers_of(part);
    if (!n && part.rank() == 0) n = guarded_number(part);
    if (!n) return std::nullopt;
    for (Size s : n->values)
      out.push_back(s);
  }
  return out;
}

Operand sizes_operand(Sizes values, DType dtype, bool scalar) {
  bool known = true;
  for (Size s : values)
    known &= s.is_const();
  if (!known)
    return graph::apply(ops::op("sizes"), {}, {{"values", std::move(values)}, {"dtype", dtype}, {"scalar", scalar}});
  Tensor t = empty_tensor(dtype, scalar ? Dims{} : Dims{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    store_int(dtype, t.bytes_mut() + static_cast<int64_t>(i) * size_bytes(dtype), values[i].value());
  return t;
}

std::optional<Operand> apply_to_sizes(const OpDef& op, const std::vector<Operand>& inputs, const Attrs& attrs,
                                      const TensorType& out) {
  if (out.rank() > 1 || inputs.empty()) return std::nullopt;
  std::vector<SizeNumbers> in;
  bool any = false;
  for (const Operand& o : inputs) {
    any |= size_values(o) != nullptr;
    auto n = numbers_of(o);
    if (!n) return std::nullopt;
    in.push_back(std::move(*n));
  }
  if (!any) return std::nullopt;
  bool scalar = out.rank() == 0;
  size_t count = scalar ? 1 : static_cast<size_t>(out.sizes[0].value());
  if (count > kMaxNumbers || count == 0) return std::nullopt;
  if (op.size_test) {
    Tensor t = empty_tensor(DType::Bool, to_dims(out.sizes));
    for (size_t i = 0; i < count; ++i)
      store_int(DType::Bool, t.bytes_mut() + i, op.size_test(in[0].at(i), in[1].at(i)));
    return Operand(std::move(t));
  }
  int64_t limit = exact_up_to(out.dtype);
  if (limit == 0 || !op.sizes) return std::nullopt;
  std::optional<Sizes> made = op.sizes({in, attrs, count});
  if (!made) return std::nullopt;
  Sizes& values = *made;
  for (Size s : values)
    if (Size(limit) < s || s < Size(-limit)) return std::nullopt;
  return sizes_operand(std::move(values), out.dtype, scalar);
}

}  // namespace sheaf::trace
