// Sorting, searching and running totals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "ops/complex.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

// What a list item is ordered by: numbers numerically (NaN last) and before everything else, the rest by text.
struct SortKey {
  enum class Class : uint8_t { Number, NaN, Text } kind;
  bool exact = false;  // an int
  int64_t whole = 0;
  double number = 0;
  std::string text;
};

SortKey sort_key(const Value& value) {
  Value v = trace::concrete(value);
  using Class = SortKey::Class;
  if (v.is_int()) return {Class::Number, true, v.as_int(), static_cast<double>(v.as_int()), {}};
  bool scalar = v.is_float() || (v.is_tensor() && v.as_tensor().num_elems() == 1);
  if (scalar) {
    double d = v.is_float() ? v.as_float() : to_double(v, "sort");
    return {std::isnan(d) ? Class::NaN : Class::Number, false, 0, d, {}};
  }
  return {Class::Text, false, 0, 0, v.is_keyword() ? v.as_keyword().str() : render(trace::concrete_tree(v))};
}

bool before(const SortKey& a, const SortKey& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.kind == SortKey::Class::Text) return a.text < b.text;
  return a.exact && b.exact ? a.whole < b.whole : a.number < b.number;
}

// The stable order of the keys; with `reverse` unequal keys come in the opposite order, equal ones as they were.
std::vector<int64_t> sorted_order(const std::vector<SortKey>& keys, bool reverse) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return reverse ? before(keys[j], keys[i]) : before(keys[i], keys[j]); });
  return order;
}

bool is_descending(const Call& c) { return c.flag("reverse") || c.flag("descending"); }

Value sort_list(Call& c) {
  auto items = c[0].items();
  const Value* key = c.option("key");
  std::vector<SortKey> keys;
  for (const Value& v : items)
    keys.push_back(sort_key(key ? c.caller.call(*key, {v}) : v));
  std::vector<Value> out;
  for (int64_t i : sorted_order(keys, is_descending(c)))
    out.push_back(items[i]);
  return Value::list(std::move(out));
}

// Rows of a tensor ordered by what a function says of each.
Value sort_rows(Call& c, const Operand& x) {
  std::vector<SortKey> keys;
  int64_t n = x.size(0).value();
  for (int64_t i = 0; i < n; ++i)
    keys.push_back(sort_key(c.caller.call(*c.option("key"), {row_value(x, i)})));
  std::vector<int64_t> order = sorted_order(keys, is_descending(c));
  return tensor_value(ops::take(x, tensor_of(DType::I64, {n}, order.data()), 0, ops::kInRange, false));
}

Value sort(Call& c) {
  if (c[0].is_list()) return sort_list(c);
  if (!is_tensor_value(c[0]))
    throw runtime_error(fmt::format("sort: expected a list or a tensor, got {}", type_name(c[0])));
  Operand x = trace::operand_of(c[0]);
  if (x.rank() == 0) return std::move(c[0]);
  if (c.option("key")) return sort_rows(c, x);
  ops::check_real(x, "sort");
  return tensor_value(ops::sort(x, axis_option(c, x.rank()).value_or(x.rank() - 1), is_descending(c)).values);
}

Value argsort(Call& c) {
  Operand x = array_operand(c[0], "argsort", DType::I64);
  ops::check_real(x, "argsort");
  return tensor_value(ops::sort(x, one_axis(c, 1, x.rank(), -1), is_descending(c)).indices);
}

Value top_k(Call& c) {
  Operand x = array_operand(c[0], "top_k");
  ops::check_real(x, "top_k");
  auto axis = axis_option(c, x.rank());
  if (!axis) x = ops::reshape(x, {num_elems(x.sizes())});
  int a = axis.value_or(0);
  int64_t k = std::min(to_count(c[1], "top_k").value(), x.size(a).value());
  ops::Sorted s = ops::top(x, a, k);
  return Value::tuple({tensor_value(s.values), tensor_value(s.indices)});
}

// How many there are is data, so the values must be known.
Value nonzero(Call& c) {
  Operand x = array_operand(c[0], "nonzero");
  ops::check_axis(0, x.rank());
  Operand o = trace::operand_of(trace::concrete(tensor_value(x)));
  std::vector<Value> out;
  for (Tensor& t : nonzero_positions(o.value(), DType::I32))
    out.push_back(Value::tensor(std::move(t)));
  return Value::tuple(std::move(out));
}

// Without an axis the flattened tensor, as NumPy does.
template <int kWhat, const char* kWho>
Value cumulate(Call& c) {
  Operand x = array_operand(c[0], kWho);
  if (x.dtype() == DType::Bool || is_storage_only(x.dtype())) x = ops::cast(x, DType::I32);
  auto axis = axis_option(c, x.rank());
  if (!axis && c.size() > 1) axis = one_axis(c, 1, x.rank(), 0);
  if (!axis) x = ops::reshape(x, {num_elems(x.sizes())});
  return tensor_value(ops::cumulate(x, axis.value_or(0), kWhat));
}

constexpr char kCumsum[] = "cumsum", kCumprod[] = "cumprod", kCummax[] = "cummax", kCummin[] = "cummin";
constexpr std::string_view kOrder = "Sorting and running totals";

const BuiltinDef kBuiltins[] = {
    {"sort",
     kOrder,
     "(sort xs [:descending] [:axis k] [:key f])",
     "A tensor in order along an axis (the last), NaN last; or a list, numbers by value and the rest by text, or by (f "
     "item). Stable. :reverse is the same as :descending.",
     {{"(sort [3 1 2])", "[1. 2. 3.]"},
      {"(sort '[10 9 -3] :reverse)", "[10, 9, -3]"},
      {"(sort '[\"ccc\" \"a\"] :key len)", "['a', 'ccc']"}},
     1,
     1,
     sort,
     "reverse descending axis key="},
    {"argsort",
     kOrder,
     "(argsort x [:axis k] [:descending])",
     "Where the elements of the sorted tensor come from, as i32, along an axis (the last). Stable. :reverse "
     "is the same as :descending.",
     {{"(argsort [30 10 20])", "[1 2 0]"}},
     1,
     2,
     argsort,
     "axis reverse descending"},
    {"top_k",
     kOrder,
     "(top_k x k [:axis a])",
     "The k largest elements and their positions (i32) as a tuple, of the flattened tensor or along an axis.",
     {{"(top_k [3 9 4] 2)", "([9. 4.], [1 2])"}},
     2,
     2,
     top_k,
     "axis"},
    {"nonzero",
     kOrder,
     "(nonzero x)",
     "The positions of the nonzero elements: a tuple with one i32 tensor per axis.",
     {{"(first (nonzero [0 3 0 5]))", "[1 3]"}},
     1,
     1,
     nonzero},
    {"cumsum",
     kOrder,
     "(cumsum x [:axis k])",
     "Running sums along an axis, or of the flattened tensor.",
     {{"(cumsum [1 2 3])", "[1. 3. 6.]"}, {"(cumsum [[1 2] [3 4]] :axis 0)", "[[1. 2.]\n [4. 6.]]"}},
     1,
     2,
     cumulate<0, kCumsum>,
     "axis"},
    {"cumprod",
     kOrder,
     "(cumprod x [:axis k])",
     "Running products along an axis, or of the flattened tensor.",
     {{"(cumprod [1 2 3 4])", "[ 1.  2.  6. 24.]"}},
     1,
     2,
     cumulate<1, kCumprod>,
     "axis"},
    {"cummax",
     kOrder,
     "(cummax x [:axis k])",
     "The largest element so far along an axis, or of the flattened tensor; NaN wins.",
     {{"(cummax [1 3 2 5])", "[1. 3. 3. 5.]"}},
     1,
     2,
     cumulate<2, kCummax>,
     "axis"},
    {"cummin",
     kOrder,
     "(cummin x [:axis k])",
     "The smallest element so far along an axis, or of the flattened tensor; NaN wins.",
     {{"(cummin [4 1 2 0])", "[4. 1. 1. 0.]"}},
     1,
     2,
     cumulate<3, kCummin>,
     "axis"},
};

}  // namespace

std::span<const BuiltinDef> order_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
