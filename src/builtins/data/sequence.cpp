// Lists and sequences without function arguments: construction, parts, lookup. An unshared list grows in place at
// either end, so append, cons and rest in a loop are linear.
#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "builtins/arrays/arithmetic.h"
#include "builtins/core/elements.h"
#include "builtins/data/families.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

Value rest(Call& c) {
  Value v = std::move(c[0]);
  if (v.is_seq()) {
    if (v.items().empty()) return v;
    if (v.unique()) {
      v.mutable_items().pop_front();
      return v;
    }
    std::vector<Value> tail(v.items().begin() + 1, v.items().end());
    return v.is_list() ? Value::list(std::move(tail)) : Value::tuple(std::move(tail));
  }
  if (!is_tensor_value(v)) throw runtime_error(fmt::format("rest: expected a list, got {}", type_name(v)));
  Operand o = trace::operand_of(v);
  if (o.rank() == 0) throw runtime_error("rest: expected a list, got a 0-d tensor");
  Size n = o.size(0);
  return n == Size(0) ? v : tensor_value(ops::slice_axis(o, 0, 1, n - Size(1)));
}

Value cons(Call& c) {
  Value list = std::move(c[1]);
  if (!list.is_list()) throw runtime_error("cons: second argument must be a list");
  list.mutable_items().push_front(std::move(c[0]));
  return list;
}

// The tensor with one more element, in the dtype to which + would promote.
Value append_to_tensor(const Value& xs, const Value& v) {
  Num x = num(xs);
  if (x.x.rank() != 1 || !trace::is_numeric(v) || num(v).x.rank() != 0)
    throw runtime_error(fmt::format("append: expected a list, or a rank-1 tensor and a number, got {} and {}",
                                    short_text(xs), short_text(v)));
  Num y = num(v);
  DType d = is_storage_only(x.x.dtype()) && y.kind != Kind::Float ? x.x.dtype() : common_dtype(x, y);
  return tensor_value(ops::concat({ops::cast(x.x, d), ops::expand_axis(in_dtype(y, d), 0)}, 0));
}

Value append(Call& c) {
  if (is_tensor_value(c[0])) return append_to_tensor(c[0], c[1]);
  if (!c[0].is_list()) throw runtime_error("append: first argument must be a list");
  Value list = std::move(c[0]);
  list.mutable_items().push_back(std::move(c[1]));
  return list;
}

Value is_empty(Call& c) {
  const Value& v = c[0];
  if (v.is_seq()) return Value::boolean(v.items().empty());
  if (v.is_dict()) return Value::boolean(v.as_dict().size() == 0);
  if (!is_tensor_value(v)) return Value::boolean(false);
  return Value::boolean(num_elems(trace::operand_of(v).sizes()) == Size(0));
}

Value chars(Call& c) {
  if (!c[0].is_string()) throw runtime_error(fmt::format("chars: expected string, got {}", type_name(c[0])));
  const std::string& s = c[0].as_string();
  std::vector<Value> out;
  for (size_t at = 0; at < s.size();) {
    utf8proc_int32_t cp;
    auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(s.data()) + at,
                              static_cast<utf8proc_ssize_t>(s.size() - at), &cp);
    size_t length = n > 0 ? static_cast<size_t>(n) : 1;  // a byte that is not UTF-8 counts as a character
    out.push_back(Value::string(s.substr(at, length)));
    at += length;
  }
  return Value::list(std::move(out));
}

bool same_item(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
    return a.number() == b.number() || std::fabs(a.number() - b.number()) < 1e-6f;
  }
  return tree_equal(a, b);
}

Value index_of(Call& c) {
  if (!c[0].is_list()) throw runtime_error("index-of: first argument must be a list");
  Value wanted = trace::concrete_tree(c[1]);
  const auto& items = c[0].items();
  for (size_t i = 0; i < items.size(); ++i)
    if (same_item(trace::concrete_tree(items[i]), wanted)) return Value::integer(static_cast<int64_t>(i));
  return Value::integer(-1);
}

Value zip(Call& c) {
  std::vector<Elements> columns;
  for (Value& v : c.args)
    columns.emplace_back(std::move(v), "zip");
  int64_t n = common_length(columns, "zip");
  std::vector<Value> rows;
  for (int64_t i = 0; i < n; ++i) {
    std::vector<Value> row;
    for (const Elements& e : columns)
      row.push_back(e.at(i));
    rows.push_back(Value::list(std::move(row)));
  }
  return Value::list(std::move(rows));
}

Value enumerate(Call& c) {
  int64_t start = c.size() > 1 ? to_index(c[1], "enumerate") : 0;
  Elements xs(std::move(c[0]), "enumerate", Walk::Sequences, Ints::Exact);
  std::vector<Value> rows;
  for (int64_t i = 0; i < xs.size(); ++i)
    rows.push_back(Value::list({add_values(Value::integer(start), Value::integer(i)), xs.at(i)}));
  return Value::list(std::move(rows));
}

// (partition n xs), (partition n step xs), (partition n step pad xs), as in Clojure. A tensor is split into tensors.
// With `kAll`, partition-all: the last groups may be shorter.
template <const char* kWho, bool kAll>
Value partition(Call& c) {
  int64_t n = to_index(c[0], kWho);
  int64_t step = c.size() > 2 ? to_index(c[1], kWho) : n;
  if (n < 1 || step < 1)
    throw runtime_error(fmt::format("{}: sizes and steps are at least 1, got {} and {}", kWho, n, step));
  bool padded = c.size() > 3;
  std::vector<Value> groups;
  Value xs = std::move(c[c.size() - 1]);
  if (is_tensor_value(xs) && !padded) {
    Operand o = trace::operand_of(xs);
    if (o.rank() == 0) throw runtime_error(fmt::format("{}: a 0-d tensor has no elements to go through", kWho));
    int64_t length = o.size(0).value();
    for (int64_t at = 0; kAll ? at < length : at + n <= length; at += step)
      groups.push_back(tensor_value(ops::slice_axis(o, 0, at, std::min(n, length - at))));
    return Value::list(std::move(groups));
  }
  Elements items(std::move(xs), kWho);
  std::vector<Value> pad = padded ? Elements(c[2].is_nil() ? Value::list({}) : c[2], kWho).all() : std::vector<Value>{};
  for (int64_t at = 0; at < items.size(); at += step) {
    bool whole = at + n <= items.size();
    if (!whole && !padded && !kAll) break;
    std::vector<Value> group;
    for (int64_t i = at; i < std::min(at + n, items.size()); ++i)
      group.push_back(items.at(i));
    for (size_t i = 0; i < pad.size() && static_cast<int64_t>(group.size()) < n; ++i)
      group.push_back(pad[i]);
    groups.push_back(Value::list(std::move(group)));
    if (!whole && !kAll) break;
  }
  return Value::list(std::move(groups));
}

Value contains(Call& c) {
  const Value &v = c[0], &key = c[1];
  if (v.is_nil()) return Value::boolean(false);
  if (v.is_dict()) return Value::boolean(is_key(key) && v.as_dict().find(key_name(key)));
  if (v.is_string() && key.is_string()) return Value::boolean(v.as_string().find(key.as_string()) != std::string::npos);
  if (!v.is_seq() && !is_tensor_value(v))
    throw runtime_error(fmt::format("contains?: expected a dict, a list or a string, got {}", type_name(v)));
  if (!trace::is_numeric(key))
    throw runtime_error(
        fmt::format("contains?: the keys of a {} are its indices, got {}", type_name(v), short_text(key)))
        .hint("to look for a value: (>= (index-of xs v) 0), or (some (fn [x] (= x v)) xs)");
  int64_t i = to_index(key, "contains?"), n = Elements(v, "contains?").size();
  return Value::boolean(i >= 0 && i < n);
}

constexpr char kPartition[] = "partition", kPartitionAll[] = "partition-all";

const BuiltinDef kBuiltins[] = {
    {"rest",
     "Sequences",
     "(rest xs)",
     "All items but the first; nothing of nothing.",
     {{"(rest '[1 2 3])", "[2, 3]"}},
     1,
     1,
     rest},
    {"cons",
     "Sequences",
     "(cons x xs)",
     "The list xs with x in front.",
     {{"(cons 0 '[1 2])", "[0, 1, 2]"}},
     2,
     2,
     cons},
    {"append",
     "Sequences",
     "(append xs x)",
     "The list or rank-1 tensor xs with x at the end.",
     {{"(append '[1 2] 3)", "[1, 2, 3]"}, {"(append [1 2] 3)", "[1. 2. 3.]"}},
     2,
     2,
     append},
    {"empty?",
     "Sequences",
     "(empty? xs)",
     "Is this list, dict or tensor without entries? False for other values.",
     {{"(empty? [])", "true"}, {"(empty? {:a 1})", "false"}},
     1,
     1,
     is_empty},
    {"chars", "Sequences", "(chars s)", "The characters of a string.", {{"(chars \"né\")", "['n', 'é']"}}, 1, 1, chars},
    {"index-of",
     "Sequences",
     "(index-of xs v)",
     "Where v first is in the list xs, or -1. Floats match within 1e-6.",
     {{"(index-of '[5 7 7] 7)", "1"}, {"(index-of [:a :b] :z)", "-1"}},
     2,
     2,
     index_of},
    {"list",
     "Sequences",
     "(list x …)",
     "A list of the arguments; unlike [..] never a tensor.",
     {{"(list 1 2 \"x\")", "[1, 2, 'x']"}},
     0,
     -1,
     [](Call& c) { return Value::list(std::move(c.args)); }},
    {"tuple",
     "Sequences",
     "(tuple x …)",
     "A tuple of the arguments.",
     {{"(tuple 1 2)", "(1, 2)"}},
     0,
     -1,
     [](Call& c) { return Value::tuple(std::move(c.args)); }},
    {"zip",
     "Sequences",
     "(zip xs ys …)",
     "A list of [x y …], as long as the shortest argument; arrays must be of one length.",
     {{"(zip '[1 2] [:a :b])", "[[1, :a], [2, :b]]"}, {"(zip '[1 2 3] [10 20])", "[[1, 10.0], [2, 20.0]]"}},
     0,
     -1,
     zip},
    {"enumerate",
     "Sequences",
     "(enumerate xs [start])",
     "A list of [index item]. Items of an int tensor are ints.",
     {{"(enumerate [\"a\" \"b\"])", "[[0, 'a'], [1, 'b']]"}, {"(enumerate (range 5 7) 1)", "[[1, 5], [2, 6]]"}},
     1,
     2,
     enumerate},
    {"partition",
     "Sequences",
     "(partition n [step] [pad] xs)",
     "Groups of n items, step apart (default n). An incomplete last group is dropped, or filled from pad if given. A "
     "tensor is cut into tensors.",
     {{"(partition 2 '[1 2 3 4 5])", "[[1, 2], [3, 4]]"},
      {"(partition 2 1 '[1 2 3])", "[[1, 2], [2, 3]]"},
      {"(partition 2 2 '[0] '[1 2 3])", "[[1, 2], [3, 0]]"}},
     2,
     4,
     partition<kPartition, false>},
    {"partition-all",
     "Sequences",
     "(partition-all n [step] xs)",
     "Groups of n items, step apart (default n); the last ones may be incomplete. A tensor is cut into tensors.",
     {{"(partition-all 2 '[1 2 3 4 5])", "[[1, 2], [3, 4], [5]]"}, {"(partition-all 2 [1 2 3])", "[[1. 2.], [3.]]"}},
     2,
     3,
     partition<kPartitionAll, true>},
    {"contains?",
     "Sequences",
     "(contains? c k)",
     "Does a dict have the key, a list or tensor the index, a string the substring?",
     {{"(contains? {:a nil} :a)", "true"},
      {"(contains? '[7 8] 2)", "false"},
      {"(contains? \"tensor\" \"ens\")", "true"}},
     2,
     2,
     contains},
    {"identity",
     "Sequences",
     "(identity x)",
     "x itself.",
     {{"(identity 5)", "5"}},
     1,
     1,
     [](Call& c) { return std::move(c[0]); }},
};

}  // namespace

std::span<const BuiltinDef> sequence_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
