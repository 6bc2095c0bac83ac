// Higher-order functions. An accumulator is moved into the call and never stored here, so that a list or dict owned
// only by the fold grows in place.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "builtins/core/elements.h"
#include "builtins/data/families.h"
#include "trace/jit.h"
#include "trace/loops.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

Value call1(Call& c, const Value& f, Value x) {
  std::vector<Value> args;
  args.push_back(std::move(x));
  return c.caller.call(f, std::move(args));
}

Value call2(Call& c, const Value& f, Value a, Value b) {
  std::vector<Value> args;
  args.reserve(2);
  args.push_back(std::move(a));
  args.push_back(std::move(b));
  return c.caller.call(f, std::move(args));
}

// Converts a row of a traced loop to the item that iterating over the whole collection gives.
Value item_of(const Operand& row) { return row.rank() == 0 ? element_value(row) : tensor_value(row); }

// A long loop over tensors in a trace becomes one node; lists, and loops that cannot be a node, are unrolled.
bool is_long_loop(int64_t n) { return n > trace::kMaxUnrolledTurns && trace::is_tracing(); }

std::optional<std::vector<Operand>> tensors_of(const std::vector<Value>& columns) {
  std::vector<Operand> out;
  for (const Value& v : columns) {
    if (!is_tensor_value(v) || trace::operand_of(v).rank() == 0) return std::nullopt;
    out.push_back(trace::operand_of(v));
  }
  return out;
}

Value map(Call& c) {
  std::vector<Elements> columns;
  std::optional<std::vector<Operand>> tensors =
      trace::is_tracing() ? tensors_of({c.args.begin() + 1, c.args.end()}) : std::nullopt;
  for (size_t i = 1; i < c.size(); ++i)
    columns.emplace_back(std::move(c[i]), "map");
  int64_t n = common_length(columns, "map");
  if (tensors && is_long_loop(n)) {
    auto turn = [&](const Operand&, Value, const std::vector<Operand>& rows) {
      std::vector<Value> args;
      for (const Operand& r : rows)
        args.push_back(item_of(r));
      return std::pair(Value::nil(), c.caller.call(c[0], std::move(args)));
    };
    if (auto done = trace::trace_loop({n, Value::nil(), *tensors, turn})) return Value::list(done->outputs.list());
  }
  std::vector<Value> out = empty_list(n);
  for (int64_t i = 0; i < n; ++i) {
    std::vector<Value> args;
    args.reserve(columns.size());
    for (const Elements& e : columns)
      args.push_back(e.at(i));
    out.push_back(c.caller.call(c[0], std::move(args)));
  }
  return Value::list(std::move(out));
}

Value filter(Call& c) {
  Elements xs(std::move(c[1]), "filter");
  std::vector<Value> out;
  for (int64_t i = 0; i < xs.size(); ++i) {
    Value x = xs.at(i);
    if (is_true(call1(c, c[0], x))) out.push_back(std::move(x));
  }
  return Value::list(std::move(out));
}

Value find(Call& c) {
  Elements xs(std::move(c[1]), "find");
  for (int64_t i = 0; i < xs.size(); ++i) {
    Value x = xs.at(i);
    if (is_true(call1(c, c[0], x))) return x;
  }
  return {};
}

Value some(Call& c) {
  Elements xs(std::move(c[1]), "some", Walk::Dicts);
  for (int64_t i = 0; i < xs.size(); ++i) {
    Value r = call1(c, c[0], xs.at(i));
    if (is_true(r)) return r;
  }
  return {};
}

Value every(Call& c) {
  Elements xs(std::move(c[1]), "every?", Walk::Dicts);
  for (int64_t i = 0; i < xs.size(); ++i)
    if (!is_true(call1(c, c[0], xs.at(i)))) return Value::boolean(false);
  return Value::boolean(true);
}

Value reduce(Call& c) {
  bool has_init = c.size() == 3;
  std::optional<std::vector<Operand>> tensors = trace::is_tracing() ? tensors_of({c.args.back()}) : std::nullopt;
  Elements xs(std::move(c[c.size() - 1]), "reduce", Walk::Dicts);
  if (!has_init && xs.size() == 0) throw runtime_error("reduce: cannot reduce empty collection without init");
  Value acc = has_init ? std::move(c[1]) : xs.at(0);
  if (tensors && is_long_loop(xs.size())) {
    int64_t n = has_init ? xs.size() : xs.size() - 1;
    if (!has_init) (*tensors)[0] = ops::slice_axis((*tensors)[0], 0, 1, n);
    auto turn = [&](const Operand&, Value carry, const std::vector<Operand>& rows) {
      return std::pair(call2(c, c[0], std::move(carry), item_of(rows[0])), Value::nil());
    };
    if (auto done = trace::trace_loop({n, acc, *tensors, turn})) return done->carry;
  }
  for (int64_t i = has_init ? 0 : 1; i < xs.size(); ++i)
    acc = call2(c, c[0], std::move(acc), xs.at(i));
  return acc;
}

// The input of scan: a collection, or a dict whose tensors are mapped together.
class ScanInput {
 public:
  explicit ScanInput(Value xs) {
    if (!xs.is_dict()) {
      columns_.push_back({Name{}, Elements(std::move(xs), "scan", Walk::Dicts)});
      size_ = columns_[0].second.size();
      return;
    }
    for (const DictEntry& e : xs.as_dict().entries()) {
      if (!is_tensor_value(e.value) || trace::operand_of(e.value).rank() == 0) continue;
      columns_.push_back({e.key, Elements(e.value, "scan")});
      if (columns_.size() == 1) size_ = columns_[0].second.size();
      if (columns_.back().second.size() != size_)
        throw runtime_error(fmt::format("scan: :{} has {} rows, but :{} has {}", e.key.str(),
                                        columns_.back().second.size(), columns_[0].first.str(), size_));
    }
    if (columns_.empty()) throw runtime_error("scan: the dict holds no tensor to go through");
    whole_ = std::move(xs);
  }
  int64_t size() const { return size_; }
  // The mapped tensors, if there is nothing else; all of equal length.
  std::optional<std::vector<Operand>> tensors() const {
    std::vector<Value> sources;
    for (const auto& column : columns_)
      sources.push_back(column.second.source());
    auto out = tensors_of(sources);
    if (out)
      for (Operand& o : *out)
        if (!(o.size(0) == Size(size_))) o = ops::slice_axis(o, 0, 0, size_);
    return out;
  }
  // An item built from rows of those tensors.
  Value from_rows(const std::vector<Operand>& rows) const {
    if (!whole_.is_dict()) return item_of(rows[0]);
    Value d = whole_;
    DictObj& out = d.mutable_dict();
    for (size_t k = 0; k < rows.size(); ++k)
      out.set(columns_[k].first, item_of(rows[k]));
    return d;
  }
  Value at(int64_t i) const {
    if (!whole_.is_dict()) return columns_[0].second.at(i);
    Value d = whole_;
    DictObj& out = d.mutable_dict();
    for (const auto& [key, column] : columns_)
      out.set(key, column.at(i));
    return d;
  }

 private:
  std::vector<std::pair<Name, Elements>> columns_;
  Value whole_;  // the dict, for its entries that are not mapped
  int64_t size_ = 0;
};

bool is_scalar_carry(const Value& v) {
  if (is_tensor_value(v)) return trace::operand_of(v).rank() == 0;
  return trace::is_numeric(v);
}

// Splits the function's result into the next carry and the output.
std::pair<Value, Value> split_step(Value r, bool scalar_carry) {
  if (r.is_seq() && r.items().size() == 2) {
    auto& items = r.mutable_items();
    return {std::move(items[0]), std::move(items[1])};
  }
  if (is_tensor_value(r)) {
    Operand o = trace::operand_of(r);
    if (o.rank() > 0 && o.size(0) == Size(2)) {
      if (o.rank() == 1 && !scalar_carry)
        throw runtime_error(
            "scan: fn returned a 2-element tensor, but the carry is not a scalar; return a list/tuple [new-carry "
            "output] instead");
      return {row_value(o, 0), row_value(o, 1)};
    }
  }
  throw runtime_error("scan: fn must return [new-carry output]").hint("it returned " + short_text(r));
}

constexpr std::string_view kScanArity = "scan requires 3 arguments: (scan fn init coll)";

Value scan(Call& c) {
  // Keywords are ordinary values here, so options are only parsed after the three arguments.
  bool stack = false;
  if (c.size() > 3) {
    if (!c[3].is_keyword() || c[3].as_keyword().str() != "stack")
      throw runtime_error(std::string(kScanArity)).hint("the only option is :stack");
    stack = c.size() == 4 || is_true(c[4]);
  }
  ScanInput xs(std::move(c[2]));
  Value carry = std::move(c[1]);
  if (is_long_loop(xs.size()))
    if (auto tensors = xs.tensors()) {
      auto turn = [&](const Operand&, Value before, const std::vector<Operand>& rows) {
        bool scalar_carry = is_scalar_carry(before);
        return split_step(call2(c, c[0], std::move(before), xs.from_rows(rows)), scalar_carry);
      };
      if (auto done = trace::trace_loop({xs.size(), carry, *tensors, turn}))
        return Value::tuple(
            {done->carry, stack ? done->outputs.stack(stack_trees) : Value::list(done->outputs.list())});
    }
  std::vector<Value> outputs = empty_list(xs.size());
  for (int64_t i = 0; i < xs.size(); ++i) {
    bool scalar_carry = is_scalar_carry(carry);
    auto [next, out] = split_step(call2(c, c[0], std::move(carry), xs.at(i)), scalar_carry);
    carry = std::move(next);
    outputs.push_back(std::move(out));
  }
  std::vector<Value> result;
  result.push_back(std::move(carry));
  result.push_back(stack ? stack_trees(outputs) : Value::list(std::move(outputs)));
  return Value::tuple(std::move(result));
}

// The last argument is a list of arguments; those in between come before them.
Value apply(Call& c) {
  std::vector<Value> args;
  for (size_t i = 1; i + 1 < c.size(); ++i)
    args.push_back(std::move(c[i]));
  Value last = std::move(c[c.size() - 1]);
  if (is_tensor_value(last)) {
    Operand o = trace::operand_of(last);
    last = tensor_value(ops::reshape(o, {num_elems(o.sizes())}));
  }
  for (Value& v : Elements(std::move(last), "apply").all())
    args.push_back(std::move(v));
  return c.caller.call(c[0], std::move(args));
}

Value comp(Call& c) {
  return native_function("comp", [fs = std::move(c.args)](Caller& caller, std::vector<Value>& args) {
    if (fs.empty()) return args.empty() ? Value::nil() : std::move(args[0]);
    Value v = caller.call(fs.back(), std::move(args));
    for (size_t i = fs.size() - 1; i-- > 0;) {
      std::vector<Value> one;
      one.push_back(std::move(v));
      v = caller.call(fs[i], std::move(one));
    }
    return v;
  });
}

Value partial(Call& c) {
  Value f = std::move(c[0]);
  c.args.erase(c.args.begin());
  return native_function("partial",
                         [f = std::move(f), bound = std::move(c.args)](Caller& caller, std::vector<Value>& args) {
                           std::vector<Value> all = bound;
                           for (Value& v : args)
                             all.push_back(std::move(v));
                           return caller.call(f, std::move(all));
                         });
}

Value group_by(Call& c) {
  Elements xs(std::move(c[1]), "group-by");
  std::vector<DictEntry> groups;
  std::unordered_map<const Name::Entry*, size_t> place;
  for (int64_t i = 0; i < xs.size(); ++i) {
    Value x = xs.at(i);
    Value k = trace::concrete_tree(call1(c, c[0], x));
    Name key = is_key(k) ? key_name(k) : Name(render(k));
    auto [it, is_new] = place.emplace(key.entry(), groups.size());
    if (is_new) groups.push_back({key, Value::list({})});
    groups[it->second].value.mutable_items().push_back(std::move(x));
  }
  return make_dict(std::move(groups));
}

Value zipmap(Call& c) {
  Elements keys(std::move(c[0]), "zipmap"), values(std::move(c[1]), "zipmap");
  std::vector<DictEntry> entries;
  for (int64_t i = 0; i < std::min(keys.size(), values.size()); ++i)
    entries.push_back({dict_key(keys.at(i)), values.at(i)});
  return make_dict(std::move(entries));
}

// Replaces the value at the end of a path of dict keys and list indices. The old value is moved out before `change`
// sees it, so that unshared values change in place. Missing levels become dicts.
Value change_at(Value node, std::span<const Value> path, std::string_view who,
                const std::function<Value(Value)>& change) {
  if (path.empty()) return change(std::move(node));
  if (node.is_nil()) node = empty_dict();
  auto deeper = [&](Value old) { return change_at(std::move(old), path.subspan(1), who, change); };
  if (node.is_dict()) {
    Name key = dict_key(path[0]);
    DictObj& d = node.mutable_dict();
    Value old;
    if (const Value* present = d.find(key)) {
      old = *present;
      d.set(key, Value::nil());
    }
    d.set(key, deeper(std::move(old)));
    return node;
  }
  if (!node.is_list())
    throw runtime_error(
        fmt::format("{}: expected a dict or a list, got {} (key: {})", who, type_name(node), short_text(path[0])));
  int64_t i = resolve_index(path[0], static_cast<int64_t>(node.items().size()));
  Value& slot = node.mutable_items()[i];
  Value old = std::move(slot);
  slot = deeper(std::move(old));
  return node;
}

// Calls (f old extra …), where extra are the arguments of the call after the first `skip`.
std::function<Value(Value)> change_by(Call& c, size_t skip) {
  return [&c, skip](Value old) {
    std::vector<Value> args;
    args.push_back(std::move(old));
    for (size_t i = skip; i < c.size(); ++i)
      args.push_back(std::move(c[i]));
    return c.caller.call(c[skip - 1], std::move(args));
  };
}

Value update(Call& c) {
  Value key = c[1];
  return change_at(std::move(c[0]), {&key, 1}, "update", change_by(c, 3));
}

Value update_in(Call& c) {
  std::vector<Value> path = Elements(c[1], "update-in").all();
  return change_at(std::move(c[0]), path, "update-in", change_by(c, 3));
}

Value assoc_in(Call& c) {
  std::vector<Value> path = Elements(c[1], "assoc-in").all();
  return change_at(std::move(c[0]), path, "assoc-in", [&c](Value) { return std::move(c[2]); });
}

const BuiltinDef kBuiltins[] = {
    {.name = "map",
     .category = "Higher-order functions",
     .signature = "(map f xs …)",
     .doc = "A list of (f x) for every item; with several collections (f x y …), as long as the shortest; arrays must "
            "be of one length. A rank-1 "
            "tensor yields its elements, a "
            "higher rank its rows.",
     .examples = {{"(map (fn [x] (* x x)) '[1 2 3])", "[1, 4, 9]"},
                  {"(map + '[1 2] '[10 20])", "[11, 22]"},
                  {"(map sum [[1 2] [3 4]])", "[3.0, 7.0]"}},
     .min_args = 2,
     .run = map,
     .arity_text = "map requires 2 arguments: (map fn coll)"},
    {.name = "filter",
     .category = "Higher-order functions",
     .signature = "(filter f xs)",
     .doc = "A list of the items for which f is true.",
     .examples = {{"(filter (fn [x] (> x 2)) '[1 2 3 4])", "[3, 4]"}},
     .min_args = 2,
     .max_args = 2,
     .run = filter,
     .arity_text = "filter requires 2 arguments: (filter fn coll)"},
    {.name = "find",
     .category = "Higher-order functions",
     .signature = "(find f xs)",
     .doc = "The first item for which f is true, or nil.",
     .examples = {{"(find (fn [x] (> x 2)) '[1 2 3 4])", "3"}},
     .min_args = 2,
     .max_args = 2,
     .run = find,
     .arity_text = "find requires 2 arguments: (find fn coll)"},
    {.name = "reduce",
     .category = "Higher-order functions",
     .signature = "(reduce f [init] xs)",
     .doc = "Folds from the left: f gets the accumulator and an item. Over a list, a tensor, or the values of a dict "
            "in key order; without init the "
            "first item starts.",
     .examples = {{"(reduce + '[1 2 3 4])", "10"}, {"(reduce (fn [a x] (append a (* x 10))) [] '[1 2])", "[10, 20]"}},
     .min_args = 2,
     .max_args = 3,
     .run = reduce,
     .arity_text = "reduce requires 2 or 3 arguments: (reduce fn [init] coll)"},
    {.name = "scan",
     .category = "Higher-order functions",
     .signature = "(scan f init xs [:stack])",
     .doc = "A fold that also collects: f gets the carry and an item and returns [new-carry output]. The result is the "
            "tuple (carry, outputs). xs is "
            "a list, a tensor, or a dict of tensors sliced together. Outputs are a list; with :stack they are stacked "
            "into tensors.",
     .examples = {{"(scan (fn [c x] (list (+ c x) c)) 0 '[1 2 3])", "(6, [0, 1, 3])"},
                  {"(scan (fn [c x] (list (+ c x) (+ c x))) 0.0 [1 2 3] :stack)", "(6.0, [1. 3. 6.])"}},
     .min_args = 3,
     .max_args = 5,
     .run = scan,
     .arity_text = kScanArity},
    {.name = "apply",
     .category = "Higher-order functions",
     .signature = "(apply f [x …] args)",
     .doc = "Calls f with the items of args as arguments, after any given before it. A tensor is flattened.",
     .examples = {{"(apply + '[1 2 3])", "6"}, {"(apply list 0 '[1 2])", "[0, 1, 2]"}},
     .min_args = 2,
     .run = apply,
     .arity_text = "apply requires 2 arguments: (apply fn args)"},
    {.name = "some",
     .category = "Higher-order functions",
     .signature = "(some f xs)",
     .doc = "The first true value of (f x), or nil.",
     .examples = {{"(some (fn [x] (> x 2)) '[1 2 3])", "true"},
                  {"(some (fn [d] (get d :b)) (list {:a 1} {:b 7}))", "7"}},
     .min_args = 2,
     .max_args = 2,
     .run = some,
     .arity_text = "some requires 2 arguments: (some fn coll)"},
    {.name = "every?",
     .category = "Higher-order functions",
     .signature = "(every? f xs)",
     .doc = "Is f true for every item? True when there is none.",
     .examples = {{"(every? (fn [x] (> x 0)) '[1 2])", "true"}},
     .min_args = 2,
     .max_args = 2,
     .run = every,
     .arity_text = "every? requires 2 arguments: (every? fn coll)"},
    {.name = "comp",
     .category = "Higher-order functions",
     .signature = "(comp f g …)",
     .doc = "The function that applies the last of them first: (f (g … x)).",
     .examples = {{"((comp - inc) 5)", "-6"}},
     .run = comp},
    {.name = "partial",
     .category = "Higher-order functions",
     .signature = "(partial f x …)",
     .doc = "f with its first arguments given.",
     .examples = {{"((partial + 10) 5)", "15"}},
     .min_args = 1,
     .run = partial},
    {.name = "group-by",
     .category = "Higher-order functions",
     .signature = "(group-by f xs)",
     .doc = "A dict from each value of (f x), as a key, to the list of the items that gave it.",
     .examples = {{"(group-by (fn [x] (if (> x 2) :big :small)) '[1 2 3 4])", "{:big [3, 4], :small [1, 2]}"}},
     .min_args = 2,
     .max_args = 2,
     .run = group_by,
     .arity_text = "group-by requires 2 arguments: (group-by fn coll)"},
    {.name = "zipmap",
     .category = "Dictionaries",
     .signature = "(zipmap keys values)",
     .doc = "A dict of keys with their values.",
     .examples = {{"(zipmap [:a :b] '[1 2])", "{:a 1, :b 2}"}},
     .min_args = 2,
     .max_args = 2,
     .run = zipmap},
    {.name = "update",
     .category = "Dictionaries",
     .signature = "(update d k f x …)",
     .doc = "d with the value at k replaced by (f value x …).",
     .examples = {{"(update {:n 1} :n + 10)", "{:n 11}"}},
     .min_args = 3,
     .run = update},
    {.name = "update-in",
     .category = "Dictionaries",
     .signature = "(update-in d path f x …)",
     .doc = "d with the value at the end of the path of keys and indices replaced by (f value x …).",
     .examples = {{"(update-in {:a {:b 1}} [:a :b] inc)", "{:a {:b 2}}"}},
     .min_args = 3,
     .run = update_in},
    {.name = "assoc-in",
     .category = "Dictionaries",
     .signature = "(assoc-in d path v)",
     .doc = "d with v at the end of the path of keys and indices; missing levels are made.",
     .examples = {{"(assoc-in {:a {:b 1}} [:a :c] 2)", "{:a {:b 1, :c 2}}"},
                  {"(assoc-in {} [:x :y] 1)", "{:x {:y 1}}"}},
     .min_args = 3,
     .max_args = 3,
     .run = assoc_in},
};

}  // namespace

std::span<const BuiltinDef> higher_order_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
