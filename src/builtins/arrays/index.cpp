// Items of collections and tensors: get and its relatives, gathers and scatters.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "builtins/core/missing.h"
#include "builtins/core/warnings.h"
#include "ops/update.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using trace::is_numeric;
using trace::kind_of;
using trace::operand_of;

// An item of axis 0: an element for rank 1, else a sub-tensor.
Value item_value(const Operand& x, const Value& index, std::string_view who) {
  Operand y = select_item(x, 0, index, who);
  return x.rank() == 1 ? element_value(y) : tensor_value(y);
}

bool is_ascii(const std::string& s) {
  size_t i = 0;
  for (uint64_t word; i + sizeof word <= s.size(); i += sizeof word) {
    std::memcpy(&word, s.data() + i, sizeof word);
    if (word & 0x8080808080808080u) return false;
  }
  return std::all_of(s.begin() + static_cast<std::ptrdiff_t>(i), s.end(),
                     [](char ch) { return static_cast<signed char>(ch) >= 0; });
}

// The n-th character of UTF-8 text.
Value character(const std::string& s, const Value& index) {
  if (is_ascii(s))
    return Value::string(s.substr(static_cast<size_t>(resolve_index(index, static_cast<int64_t>(s.size()))), 1));
  auto starts = [](char ch) { return (static_cast<unsigned char>(ch) & 0xC0) != 0x80; };
  int64_t n = std::count_if(s.begin(), s.end(), starts);
  int64_t at = resolve_index(index, n);
  size_t begin = 0;
  for (int64_t seen = -1; begin < s.size(); ++begin)
    if (starts(s[begin]) && ++seen == at) break;
  size_t end = begin + 1;
  while (end < s.size() && !starts(s[end]))
    ++end;
  return Value::string(s.substr(begin, end - begin));
}

// `(get d :a :b …)`: while the value is a dict and the next argument a key, it is descended into.
Value get_from_dict(Call& c) {
  if (!is_key(c[1]))
    throw runtime_error(
        fmt::format("get: expected a keyword or a string as the key of a dict, got {}", short_text(c[1])));
  const Value* found = c[0].as_dict().find(key_name(c[1]));
  if (!found) {
    if (c.size() > 2) return c[2];
    remember_missing_key(key_name(c[1]), c[0].as_dict());
    return Value::nil();
  }
  for (size_t i = 2; i < c.size() && found->is_dict() && is_key(c[i]); ++i) {
    const DictObj& inner = found->as_dict();
    found = inner.find(key_name(c[i]));
    if (!found) {
      remember_missing_key(key_name(c[i]), inner);
      return Value::nil();
    }
  }
  return *found;
}

// Consecutive whole numbers, known now: a gather of them is a slice.
bool is_run(const Operand& index) {
  if (!index.has_value() || index.rank() != 1) return false;
  const Tensor& t = index.value();
  int64_t n = t.num_elems();
  for (int64_t i = 1; i < n; ++i)
    if (element_as_int(t, i) != element_as_int(t, i - 1) + 1) return false;
  return n > 0 && element_as_int(t, 0) >= 0;
}

// `(get x ... i)`: along the last axis.
Value get_last_axis(Call& c, const Operand& x) {
  if (c.size() < 3) throw runtime_error("get: ... must be followed by an index");
  int axis = ops::check_axis(-1, x.rank());
  const Value& index = c[2];
  if (is_mask(index)) return items_at(x, std::span<const Value>(c.args).subspan(1), "get");
  if (!is_numeric(index))
    throw runtime_error(fmt::format("get: expected an index after ..., got {}", short_text(index)));
  if (kind_of(index) != Kind::Tensor) return tensor_value(select_item(x, axis, index, "get"));
  Operand at = index_operand(index, "get");
  if (is_run(at)) {
    int64_t first = element_as_int(at.value(), 0), n = at.value().num_elems();
    if (Size(first + n) > x.size(axis))
      throw runtime_error(fmt::format("index {} out of bounds for length {}", first + n - 1, x.size(axis).str()));
    return tensor_value(ops::slice_axis(x, axis, first, n));
  }
  return tensor_value(ops::take(x, at, axis, "take", true));
}

Value get_from_tensor(Call& c) {
  Operand x = operand_of(c[0]);
  if (c[1].tag() == Tag::Marker) return get_last_axis(c, x);
  if (is_mask(c[1])) return items_at(x, std::span<const Value>(c.args).subspan(1, 1), "get");
  if (c[1].is_seq())
    throw runtime_error(fmt::format("get: expected a number or a tensor as the index, got {}", short_text(c[1])))
        .hint("write the indices as a vector without a quote, e.g. (get x [0 2])");
  if (!is_numeric(c[1]))
    throw runtime_error(fmt::format("get: expected a number or a tensor as the index, got {}", short_text(c[1])));
  if (x.rank() == 0) throw runtime_error("get: a 0-d tensor has no items");
  if (c.size() > 2) warn("get ignores argument 3; did you mean (at x i j)?");
  if (kind_of(c[1]) != Kind::Tensor) return item_value(x, c[1], "get");
  return tensor_value(ops::take(x, index_operand(c[1], "get"), 0, "get", true));
}

Value get(Call& c) {
  const Value& from = c[0];
  if (from.is_dict()) return get_from_dict(c);
  if (from.is_seq() || from.is_string()) {
    if (!is_numeric(c[1]))
      throw runtime_error(
          fmt::format("get: expected a number as the index of a {}, got {}", type_name(from), short_text(c[1])));
    if (from.is_string()) return character(from.as_string(), c[1]);
    int64_t n = static_cast<int64_t>(from.items().size());
    if (c.size() > 2) {
      int64_t i = to_index(c[1], "get");
      if (i < -n || i >= n) return c[2];
    }
    return from.items()[resolve_index(c[1], n)];
  }
  if (is_tensor_value(from)) return get_from_tensor(c);
  throw runtime_error(
      fmt::format("get: expected a dict, a tensor, or a list, got {} (key: {})", type_name(from), short_text(c[1])));
}

// One step of a path; false on a miss.
bool descend(Value& at, const Value& step) {
  if (at.is_dict()) {
    const Value* v = is_key(step) ? at.as_dict().find(key_name(step)) : nullptr;
    if (!v) return false;
    at = Value(*v);
    return true;
  }
  if (!is_numeric(step)) return false;
  bool tensor = is_tensor_value(at) && operand_of(at).rank() > 0;
  if (!at.is_seq() && !tensor) return false;
  if (tensor && !is_known(step)) {
    at = item_value(operand_of(at), step, "get-in");
    return true;
  }
  int64_t n = tensor ? operand_of(at).size(0).value() : static_cast<int64_t>(at.items().size());
  int64_t i = to_index(step, "get-in");
  i = i < 0 ? i + n : i;
  if (i < 0 || i >= n) return false;
  at = tensor ? row_value(operand_of(at), i) : Value(at.items()[i]);
  return true;
}

Value get_in(Call& c) {
  std::vector<Value> path;
  if (c[1].is_seq())
    path = c[1].items_copy();
  else if (is_tensor_value(c[1]))
    for (int64_t i : to_ints(c[1], "get-in"))
      path.push_back(Value::integer(i));
  else
    throw runtime_error(fmt::format("get-in: expected a list as the path, got {}", short_text(c[1])));
  Value at = c[0];
  for (const Value& step : path)
    if (!descend(at, step)) return c.size() > 2 ? c[2] : Value::nil();
  return at;
}

Value nth(Call& c) {
  if (c[0].is_seq()) return c[0].items()[resolve_index(c[1], static_cast<int64_t>(c[0].items().size()))];
  if (!is_tensor_value(c[0]))
    throw runtime_error(fmt::format("nth: expected a list or a tensor, got {}", type_name(c[0])));
  Operand x = operand_of(c[0]);
  if (x.rank() == 0) throw runtime_error("nth: a 0-d tensor has no items");
  return item_value(x, c[1], "nth");
}

// Item `kAt` of a list, tuple or tensor; -1 is the last.
template <const char* kWho, int kAt>
Value item_at(Call& c) {
  constexpr int64_t kLeast = kAt < 0 ? 1 : kAt + 1;
  auto need = [](int64_t n, const char* what) {
    if (n >= kLeast) return;
    throw runtime_error(kLeast == 1 ? fmt::format("{}: empty {}", kWho, what)
                                    : fmt::format("{}: {} too short", kWho, what));
  };
  if (c[0].is_seq()) {
    auto items = c[0].items();
    need(static_cast<int64_t>(items.size()), "list");
    return kAt < 0 ? items.back() : items[kAt];
  }
  if (!is_tensor_value(c[0]))
    throw runtime_error(fmt::format("{}: expected a list or a tensor, got {}", kWho, type_name(c[0])));
  Operand x = operand_of(c[0]);
  if (x.rank() == 0) throw runtime_error(fmt::format("{}: a 0-d tensor has no items", kWho));
  Size n = x.size(0);
  if (n < Size(kLeast)) need(n.value(), "tensor");
  return row_value(x, kAt < 0 ? n - Size(1) : Size(kAt));
}

// Whether `updates` find place in an array of another dtype: floats do not among ints, nor complex numbers among reals.
bool keeps_dtype(DType array, DType updates) {
  return is_complex(array) || (!is_complex(updates) && (is_float(array) || !is_float(updates)));
}

// A float put into an int tensor makes it f32, a complex number c64; otherwise the tensor's dtype stays.
Value index_update(Call& c) {
  Operand x = tensor_operand(c[0], "index-update");
  ops::check_axis(0, x.rank());
  Num v = num(c[2]);
  DType d = keeps_dtype(x.dtype(), v.x.dtype()) ? x.dtype() : common_dtype(num(c[0]), v);
  Sizes row = x.sizes();
  row[0] = 1;
  Sizes slice(row.begin() + 1, row.end());
  Region r{Sizes(row.size(), Size(0)), row, Sizes(row.size(), Size(1))};
  if (x.dtype() == d && !v.x.is_node() && is_known(c[1]) && can_write_region(c[0], r)) {
    int64_t i = to_index(c[1], "index-update"), n = x.size(0).value();
    if (i < 0 || i >= n)
      throw runtime_error(fmt::format("index-update: index {} is out of bounds for axis 0 with size {}", i, n));
    r.starts[0] = i;
    x = Operand();  // gives up our share, so that the argument can be the only one
    return write_region(std::move(c[0]), ops::reshape(stretch(in_dtype(v, d), slice), row), r);
  }
  Operand at = index_operand(c[1], "index-update");
  if (!(num_elems(at.sizes()) == Size(1)))
    throw runtime_error(fmt::format("index-update: expected one index, got shape {}", shape_text(at.sizes())));
  Operand update = ops::reshape(stretch(in_dtype(v, d), slice), row);
  return tensor_value(ops::scatter(ops::cast(x, d), ops::reshape(at, {1}), update, 0, true, "index-update", false));
}

// The elements, or the items of an axis, where a mask is true.
Value take_where(const Operand& x, const Value& mask, std::optional<int> axis) {
  std::vector<Value> indices(axis.value_or(0), Value::keyword(Name("")));
  indices.push_back(mask);
  return items_at(x, indices, "take");
}

// `(take n xs)`: the first n items. `(take x indices)`: a gather, of the flattened tensor or along an axis.
Value take(Call& c) {
  if (is_numeric(c[0]) && kind_of(c[0]) != Kind::Tensor) {
    Size n = to_count(c[0], "take");
    if (c[1].is_seq()) {
      auto items = c[1].items();
      return Value::list(
          {items.begin(), items.begin() + std::min<int64_t>(n.value(), static_cast<int64_t>(items.size()))});
    }
    Operand x = tensor_operand(c[1], "take");
    ops::check_axis(0, x.rank());
    return tensor_value(slice_range(x, 0, 0, n < x.size(0) ? n : x.size(0)));
  }
  Operand x = tensor_operand(c[0], "take");
  auto axis = axis_option(c, x.rank());
  if (is_mask(c[1])) return take_where(x, c[1], axis);
  if (!axis) x = ops::reshape(x, {num_elems(x.sizes())});
  Operand at = index_operand(c[1].is_seq() ? tensor_value(array_operand(c[1], "take", DType::I64)) : c[1], "take");
  Operand y = ops::take(x, at, axis.value_or(0), "take", true);
  return y.rank() == 0 && kind_of(c[1]) != Kind::Tensor ? element_value(y) : tensor_value(y);
}

// Sizes other than along `axis` broadcast between x and the indices.
Operand take_along(const Operand& x, const Operand& at, int axis, const char* who, bool wrap) {
  Sizes xs = x.sizes(), is = at.sizes();
  Size n = xs[axis], j = is[axis];
  xs[axis] = is[axis] = 1;
  Sizes common = ops::broadcast_sizes(xs, is);
  Sizes full = common, picked = common;
  full[axis] = n;
  picked[axis] = j;
  return ops::take_along(ops::broadcast_to(x, full), ops::broadcast_to(at, picked), axis, who, wrap);
}

Value take_along_axis(Call& c) {
  Operand x = tensor_operand(c[0], "take-along-axis"), at = index_operand(c[1], "take-along-axis");
  int axis = one_axis(c, 2, x.rank(), -1);
  if (at.rank() != x.rank())
    throw runtime_error(fmt::format("take-along-axis: the indices have {} axes, the tensor {}", at.rank(), x.rank()));
  return tensor_value(take_along(x, at, axis, "take-along-axis", true));
}

// For each row of scores [N V] the one of its class, classes [N 1]. Errors are those of a product with a one-hot
// matrix.
Value class_scores(Call& c) {
  return tensor_value(take_along(num(c[0]).x, index_operand(c[1], "one-hot"), 1, "one-hot", false));
}

// Class numbers that are compared rather than looked up.
Value class_numbers(Call& c) {
  Operand classes = whole_operand(c[0], c[1].as_string());
  return trace::to_value(classes, kind_of(c[0]) == Kind::Tensor ? Kind::Tensor : Kind::Int);
}

// The inverse of a gather: updates[…, k, …] meets row index[k] of the axis.
template <const char* kWho, ops::Update kHow>
Value scatter(Call& c) {
  int axis = one_axis(c, 3, tensor_operand(c[0], kWho).rank(), 0);
  Num x = num(c[0]), u = num(c[2]);
  Operand at = index_operand(c[1], kWho);
  DType d = is_float(x.x.dtype()) && !is_complex(u.x.dtype()) ? x.x.dtype() : common_dtype(x, u);
  Sizes wide, flat;  // the shape of the updates, with the index's axes and with one for all of them
  for (int i = 0; i < x.x.rank(); ++i) {
    if (i != axis)
      wide.push_back(x.x.size(i));
    else
      for (Size s : at.sizes())
        wide.push_back(s);
    flat.push_back(i == axis ? num_elems(at.sizes()) : x.x.size(i));
  }
  Operand updates = ops::reshape(stretch(in_dtype(u, d), wide), flat);
  return tensor_value(
      ops::update_rows(ops::cast(x.x, d), ops::reshape(at, {num_elems(at.sizes())}), updates, axis, kHow, kWho, true));
}

// take-along-axis the other way round.
Value put_along_axis(Call& c) {
  constexpr std::string_view who = "put-along-axis";
  Operand x = tensor_operand(c[0], who), at = index_operand(c[1], who);
  int axis = one_axis(c, 3, x.rank(), -1);
  if (at.rank() != x.rank())
    throw runtime_error(fmt::format("{}: the indices have {} axes, the tensor {}", who, at.rank(), x.rank()));
  Sizes places = x.sizes();
  places[axis] = at.size(axis);
  Operand v = stretch(in_dtype(num(c[2]), x.dtype()), places);
  return tensor_value(ops::update_along(x, stretch(at, places), v, axis, ops::Update::Set, std::string(who), true));
}

constexpr char kAdd[] = "scatter-add", kMax[] = "scatter-max", kMin[] = "scatter-min", kMul[] = "scatter-mul";
constexpr char kFirst[] = "first", kSecond[] = "second", kLast[] = "last";
constexpr std::string_view kIndexing = "Indexing";

const BuiltinDef kBuiltins[] = {
    {"get",
     kIndexing,
     "(get c k [default]) (get x ... i)",
     "The entry of a dict (nil or the default if missing; further keys descend), an item of a list, string or tensor, "
     "or rows at a tensor of indices or where a bool mask is true. After ..., the last axis. (:key d) and (:key d "
     "default) read a dict too.",
     {{"(get {:a 1} :b 9)", "9"},
      {"(:a {:a 1})", "1"},
      {"(get [10 20 30] [2 0])", "[30. 10.]"},
      {"(get [10 20 30] (> [10 20 30] 15))", "[20. 30.]"},
      {"(get [[1 2 3] [4 5 6]] ... 1)", "[2. 5.]"}},
     2,
     -1,
     get},
    {"get-in",
     kIndexing,
     "(get-in c path [default])",
     "Follows a path of keys and indices; a miss gives the default or nil.",
     {{"(get-in {:a '[10 20]} '[:a 1])", "20"}},
     2,
     3,
     get_in},
    {"nth",
     kIndexing,
     "(nth xs i)",
     "Item i of a list or tensor; negative counts from the end.",
     {{"(nth '[10 20 30] -1)", "30"}},
     2,
     2,
     nth},
    {"first",
     kIndexing,
     "(first xs)",
     "The first item of a list, tuple or tensor.",
     {{"(first '[1 2 3])", "1"}, {"(first [7 8])", "7.0"}},
     1,
     1,
     item_at<kFirst, 0>},
    {"second",
     kIndexing,
     "(second xs)",
     "The second item of a list, tuple or tensor.",
     {{"(second [[1 2] [3 4]])", "[3. 4.]"}},
     1,
     1,
     item_at<kSecond, 1>},
    {"last",
     kIndexing,
     "(last xs)",
     "The last item of a list, tuple or tensor.",
     {{"(last [7 8 9])", "9.0"}},
     1,
     1,
     item_at<kLast, -1>},
    {"index-update",
     kIndexing,
     "(index-update x i v)",
     "A copy of x with item i of axis 0 replaced.",
     {{"(index-update [0 0 0] 1 7.5)", "[ 0. 7.5  0.]"}},
     3,
     3,
     index_update},
    {"take",
     kIndexing,
     "(take n xs) (take x indices [:axis k])",
     "The first n items of a list or tensor; or elements at the indices (or where a bool mask is true), of the "
     "flattened tensor or along an axis.",
     {{"(take 2 '[1 2 3])", "[1, 2]"}, {"(take [[1 2] [3 4]] [1 0] :axis 1)", "[[2. 1.]\n [4. 3.]]"}},
     2,
     2,
     take,
     "axis"},
    {"take-along-axis",
     kIndexing,
     "(take-along-axis x indices axis)",
     "Picks along an axis by an index for every place, as argsort and argmax give.",
     {{"(take-along-axis [[10 20] [30 40]] [[1] [0]] 1)", "[[20.]\n [30.]]"}},
     2,
     3,
     take_along_axis,
     "axis"},
    {"%class-numbers", "", "", "", {}, 2, 2, class_numbers},
    {"%class-scores", "", "", "", {}, 2, 2, class_scores},
    {"scatter-add",
     kIndexing,
     "(scatter-add x indices updates [:axis k])",
     "x with updates added to the rows (of axis 0) at the indices; repeated indices add up.",
     {{"(scatter-add [0 0 0] [2 0 2] [1 2 3])", "[2. 0. 4.]"}},
     3,
     4,
     scatter<kAdd, ops::Update::Add>,
     "axis"},
    {"scatter-max",
     kIndexing,
     "(scatter-max x indices updates [:axis k])",
     "x with the larger of the updates and what is there in the rows (of axis 0) at the indices. Every element that "
     "equals the maximum has its gradient.",
     {{"(scatter-max [0 0 0] [2 0 2] [1 -2 3])", "[0. 0. 3.]"}},
     3,
     4,
     scatter<kMax, ops::Update::Max>,
     "axis"},
    {"scatter-min",
     kIndexing,
     "(scatter-min x indices updates [:axis k])",
     "x with the smaller of the updates and what is there in the rows (of axis 0) at the indices, as scatter-max.",
     {{"(scatter-min [0 0 0] [2 0 2] [1 -2 -3])", "[-2.  0. -3.]"}},
     3,
     4,
     scatter<kMin, ops::Update::Min>,
     "axis"},
    {"scatter-mul",
     kIndexing,
     "(scatter-mul x indices updates [:axis k])",
     "x with the rows (of axis 0) at the indices multiplied by the updates; repeated indices multiply several times.",
     {{"(scatter-mul [1 1 1] [2 0 2] [2 3 4])", "[3. 1. 8.]"}},
     3,
     4,
     scatter<kMul, ops::Update::Multiply>,
     "axis"},
    {"put-along-axis",
     kIndexing,
     "(put-along-axis x indices values axis)",
     "x with values (broadcast) along an axis at an index for every place, where take-along-axis reads.",
     {{"(put-along-axis [[10 20] [30 40]] [[1] [0]] 0 1)", "[[10.  0.]\n [ 0. 40.]]"}},
     3,
     4,
     put_along_axis,
     "axis"},
};

}  // namespace

std::span<const BuiltinDef> index_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
