#include "builtins/core/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "builtins/core/warnings.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::builtins {
namespace {

using trace::operand_of;
using trace::to_value;

Value exact_element(const Tensor& t, int64_t i) { return Value::integer(element_as_int(t, i)); }

// Element i of a rank-1 tensor; the same rules as element_value, without an op for each element.
Value plain_element(const Tensor& t, int64_t i, Ints ints) {
  const std::byte* p = t.bytes() + i * t.strides[0] * size_bytes(t.dtype);
  if (t.dtype == DType::F32) return Value::floating(static_cast<float>(load_double(DType::F32, p)));
  if (!is_number_dtype(t.dtype)) return Value::tensor(select_axis0(t, i));
  if (is_int(t.dtype) && (ints == Ints::Exact || t.dtype == DType::I64 || t.dtype == DType::U32))
    return exact_element(t, i);
  double x = load_double(t.dtype, p);
  auto y = static_cast<float>(x);
  if (y != x && x == x)
    warn(fmt::format("the int {:.0f} taken out of a tensor becomes the float {}; (item x i) gives it exactly", x,
                     float_text(y)));
  return Value::floating(y);
}

// A key without its trailing digits, and their number (-1: none).
std::pair<std::string_view, int64_t> split_number(std::string_view key) {
  size_t end = key.size();
  while (end > 0 && key[end - 1] >= '0' && key[end - 1] <= '9')
    --end;
  if (end == key.size() || key.size() - end > 9) return {key, -1};
  int64_t n = 0;
  for (char ch : key.substr(end))
    n = n * 10 + (ch - '0');
  return {key.substr(0, end), n};
}

}  // namespace

Elements::Elements(Value source, std::string_view who, Walk walk, Ints ints) : source_(std::move(source)), ints_(ints) {
  if (source_.is_seq()) {
    size_ = static_cast<int64_t>(source_.items().size());
  } else if (walk == Walk::Dicts && source_.is_dict()) {
    warn_numbered_keys(source_.as_dict());
    size_ = static_cast<int64_t>(source_.as_dict().size());
  } else if (is_tensor_value(source_)) {
    Operand o = operand_of(source_);
    if (o.rank() == 0) throw runtime_error(fmt::format("{}: a 0-d tensor has no elements to go through", who));
    size_ = o.size(0).value();
  } else {
    throw runtime_error(fmt::format("{}: expected a list{} a tensor{}, got {}", who, walk == Walk::Dicts ? "," : " or",
                                    walk == Walk::Dicts ? ", or a dict" : "", type_name(source_)));
  }
}

Value Elements::at(int64_t i) const {
  if (source_.is_seq()) return source_.items()[i];
  if (source_.is_dict()) return source_.as_dict().entries()[i].value;
  if (source_.is_tensor()) {
    const Tensor& t = source_.as_tensor();
    return t.rank() == 1 ? plain_element(t, i, ints_) : Value::tensor(select_axis0(t, i));
  }
  Operand o = operand_of(source_);
  if (o.rank() == 1 && ints_ == Ints::Exact && is_int(o.dtype()))
    return to_value(ops::cast(ops::squeeze_axis(ops::slice_axis(o, 0, i, 1), 0), DType::I64), Kind::Int);
  return row_value(o, i);
}

int64_t common_length(const std::vector<Elements>& columns, std::string_view who) {
  int64_t n = INT64_MAX;
  const Elements* array = nullptr;
  for (const Elements& e : columns) {
    n = std::min(n, e.size());
    if (!is_tensor_value(e.source())) continue;
    if (array && array->size() != e.size())
      throw runtime_error(fmt::format("{}: collection {} has {} rows, but collection {} has {}", who,
                                      &e - columns.data() + 1, e.size(), array - columns.data() + 1, array->size()))
          .hint(
              "arrays that are walked together must be of one length, e.g. (slice x 0 n); lists end with the "
              "shortest");
    if (!array) array = &e;
  }
  return columns.empty() ? 0 : n;
}

std::vector<Value> empty_list(int64_t room) {
  // A tensor whose rows are empty may have more of them than memory holds.
  if (static_cast<size_t>(room) > memory_stats().limit_bytes / sizeof(Value))
    throw runtime_error(fmt::format("out of memory: a list of {} values", room));
  std::vector<Value> out;
  out.reserve(room);
  return out;
}

std::vector<Value> Elements::all() const {
  if (source_.is_seq()) return source_.items_copy();
  std::vector<Value> out = empty_list(size_);
  for (int64_t i = 0; i < size_; ++i)
    out.push_back(at(i));
  return out;
}

Value stack_operands(const std::vector<Operand>& parts) {
  DType d = parts[0].dtype();
  bool plain = true;
  for (const Operand& o : parts) {
    d = o.dtype() == d ? d : promote(d, o.dtype());
    plain &= !o.is_node();
  }
  if (!plain) {
    std::vector<Operand> rows;
    for (const Operand& o : parts)
      rows.push_back(ops::expand_axis(ops::cast(o, d), 0));
    return tensor_value(ops::concat(std::move(rows), 0));
  }
  Dims sizes = parts[0].value().sizes;
  sizes.insert(sizes.begin(), static_cast<int64_t>(parts.size()));
  Tensor out = empty_tensor(d, sizes);
  std::byte* to = out.bytes_mut();
  for (const Operand& o : parts) {
    Tensor row = contiguous(cast_tensor(o.value(), d));
    size_t bytes = static_cast<size_t>(row.num_elems()) * size_bytes(d);
    if (bytes) std::memcpy(to, row.bytes(), bytes);
    to += bytes;
  }
  return Value::tensor(std::move(out));
}

namespace {

// The parts of several trees at one place, stacked; as a list where that cannot be. Nothing: containers to be entered.
std::optional<Value> stack_parts(std::span<const Value* const> parts) {
  auto all = [&](auto&& test) {
    return std::all_of(parts.begin(), parts.end(), [&](const Value* v) { return test(*v); });
  };
  auto list = [&] {
    std::vector<Value> items;
    items.reserve(parts.size());
    for (const Value* v : parts)
      items.push_back(*v);
    return Value::list(std::move(items));
  };
  if (all(trace::is_numeric)) {
    std::vector<Operand> rows;
    for (const Value* v : parts) {
      Operand o = operand_of(*v);
      if (trace::kind_of(*v) == Kind::Int) o = ops::cast(o, DType::F32);  // as in a vector literal
      if (!rows.empty() && !(o.sizes() == rows[0].sizes())) return list();
      rows.push_back(std::move(o));
    }
    return stack_operands(rows);
  }
  if (all([](const Value& v) { return v.is_nil(); })) return Value::nil();
  if (all([&](const Value& v) { return same_container(*parts[0], v, Nodes::Sequences); })) return std::nullopt;
  return list();
}

}  // namespace

Value stack_trees(std::span<const Value> items) {
  if (items.empty()) return Value::list({});
  return zip_trees(items, Nodes::Sequences,
                   [](std::span<const Value* const> parts, const TreePath&) { return stack_parts(parts); });
}

Name dict_key(const Value& v) {
  if (!is_key(v)) throw runtime_error(fmt::format("Dict key must be a keyword or a string, got {}", type_name(v)));
  return key_name(v);
}

void warn_numbered_keys(const DictObj& d) {
  auto entries = d.entries();
  for (size_t i = 1; i < entries.size(); ++i) {
    auto [a, m] = split_number(entries[i - 1].key.str());
    auto [b, n] = split_number(entries[i].key.str());
    if (m < 0 || n < 0 || a != b || m <= n) continue;
    warn(fmt::format("a dict goes in the order of its keys as text: :{} before :{}; pad the numbers or use a list",
                     entries[i - 1].key.str(), entries[i].key.str()));
    return;
  }
}

}  // namespace sheaf::builtins
