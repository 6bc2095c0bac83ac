// Comparison of whole trees, and a look at their leaves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builtins/core/numeric.h"
#include "builtins/host/families.h"
#include "builtins/host/output.h"
#include "value/equal.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::builtins {
namespace {

struct Tolerance {
  double rtol, atol;
  bool equal_nan;
};

Tolerance tolerance(const Call& c, std::string_view who) {
  auto number = [&](std::string_view name, double missing) {
    const Value* v = c.option(name);
    return v ? to_double(*v, who) : missing;
  };
  return {number("rtol", 1e-5), number("atol", 1e-8), c.flag("equal-nan")};
}

// Calls leaf(path, a, b) for leaves at the same place, and differ(path, why) where the structures disagree.
template <class Leaf, class Structure>
void walk_together(const std::string& path, const Value& a, const Value& b, Leaf&& leaf, Structure&& differ) {
  auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (a.is_dict() && b.is_dict()) {
    for (const DictEntry& e : a.as_dict().entries()) {
      if (const Value* other = b.as_dict().find(e.key))
        walk_together(below(std::string(e.key.str())), e.value, *other, leaf, differ);
      else
        differ(path, fmt::format("key :{} is missing in the second", e.key.str()));
    }
    for (const DictEntry& e : b.as_dict().entries())
      if (!a.as_dict().find(e.key)) differ(path, fmt::format("key :{} is missing in the first", e.key.str()));
    return;
  }
  if (a.is_seq() && b.is_seq()) {
    if (a.items().size() != b.items().size())
      return differ(path, fmt::format("lengths {} and {}", a.items().size(), b.items().size()));
    for (size_t i = 0; i < a.items().size(); ++i)
      walk_together(below(std::to_string(i)), a.items()[i], b.items()[i], leaf, differ);
    return;
  }
  leaf(path, a, b);
}

DType comparison_dtype(const Num& a, const Num& b) {
  return a.x.dtype() == DType::F64 || b.x.dtype() == DType::F64 ? DType::F64 : DType::F32;
}

// Bool, 0-d: |a - b| <= atol + rtol |b| everywhere (equal infinities included).
Operand all_close(const Num& a, const Num& b, const Tolerance& t) {
  DType d = comparison_dtype(a, b);
  Operand x = ops::cast(a.x, d), y = ops::cast(b.x, d);
  Operand allowed = ops::add(ops::constant(d, t.atol), ops::mul(ops::constant(d, t.rtol), ops::apply1("abs", y)));
  // An infinite b would allow everything.
  Operand finite = ops::less(ops::apply1("abs", y), ops::constant(d, HUGE_VAL));
  Operand close = ops::apply2("bit_and", finite, ops::less_equal(ops::apply1("abs", ops::sub(x, y)), allowed));
  close = ops::apply2("bit_or", close, ops::equal(x, y));
  if (t.equal_nan)
    close = ops::apply2("bit_or", close, ops::apply2("bit_and", ops::apply1("is_nan", x), ops::apply1("is_nan", y)));
  Operand failures = ops::sum_all(ops::cast(ops::apply1("bit_not", close), DType::I64));
  return ops::equal(failures, ops::constant_int(DType::I64, 0));
}

Value allclose(Call& c) {
  Tolerance t = tolerance(c, "allclose");
  bool same = true;
  Operand all;
  walk_together(
      "", c[0], c[1],
      [&](const std::string&, const Value& a, const Value& b) {
        if (!trace::is_numeric(a) || !trace::is_numeric(b)) {
          same = same && tree_equal(trace::concrete_tree(a), trace::concrete_tree(b));
          return;
        }
        Operand close = all_close(num(a), num(b), t);
        all = all ? ops::apply2("bit_and", all, close) : close;
      },
      [&](const std::string&, const std::string&) { same = false; });
  if (!same || !all) return Value::boolean(same);
  return trace::to_value(all, Kind::Bool);
}

std::string element_place(const Dims& sizes, int64_t flat) {
  std::vector<int64_t> index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; flat /= sizes[i])
    index[i] = flat % sizes[i];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

[[noreturn]] void not_close(const std::string& path, const std::string& what) {
  throw runtime_error(fmt::format("is-close: {}{}{}", path, path.empty() ? "" : ": ", what));
}

std::string scalar_text(const Tensor& t, int64_t i) {
  std::string s = element_text(t, i);
  return s.ends_with('.') ? s + '0' : s;
}

// Throws at the element that misses by most.
void check_close(const std::string& path, const Value& a, const Value& b, const Tolerance& t) {
  if (!trace::is_numeric(a) || !trace::is_numeric(b)) {
    if (!tree_equal(a, b)) not_close(path, fmt::format("got {}, expected {}", short_text(a), short_text(b)));
    return;
  }
  Operand ao = num(a).x, bo = num(b).x;
  Sizes sizes = ao.sizes();
  if (ao.rank() != 0 && bo.rank() != 0 && !(sizes == bo.sizes()))
    not_close(path, fmt::format("got shape {}, expected {}", shape_text(sizes), shape_text(bo.sizes())));
  if (ao.rank() == 0) sizes = bo.sizes();
  Tensor x = contiguous(ops::broadcast_to(ao, sizes).value()), y = contiguous(ops::broadcast_to(bo, sizes).value());
  int64_t bad = 0, worst = -1, n = x.num_elems();
  double worst_excess = 0;
  for (int64_t i = 0; i < n; ++i) {
    double p = load_double(x.dtype, x.bytes() + i * size_bytes(x.dtype)),
           q = load_double(y.dtype, y.bytes() + i * size_bytes(y.dtype));
    double allowed = t.atol + t.rtol * std::fabs(q), miss = std::fabs(p - q);
    if (p == q || (miss <= allowed && std::isfinite(q)) || (t.equal_nan && std::isnan(p) && std::isnan(q))) continue;
    ++bad;
    double excess = miss - allowed;
    if (std::isnan(excess)) excess = HUGE_VAL;
    if (worst < 0 || excess > worst_excess) worst = i, worst_excess = excess;
  }
  if (bad == 0) return;
  double p = element_as_double(x, worst), q = element_as_double(y, worst);
  std::string values = fmt::format("got {}, expected {} (difference {:.3g}, allowed {:.3g})", scalar_text(x, worst),
                                   scalar_text(y, worst), std::fabs(p - q), t.atol + t.rtol * std::fabs(q));
  if (sizes.empty()) not_close(path, values);
  not_close(path, fmt::format("{} of {} elements differ; the worst, at {}: {}", bad, n, element_place(x.sizes, worst),
                              values));
}

Value is_close(Call& c) {
  Tolerance t = tolerance(c, "is-close");
  walk_together(
      "", trace::concrete_tree(c[0]), trace::concrete_tree(c[1]),
      [&](const std::string& path, const Value& a, const Value& b) { check_close(path, a, b, t); },
      [](const std::string& path, const std::string& why) { not_close(path, why); });
  return Value::boolean(true);
}

constexpr int kMaxTreeDepth = 4000;

// One line of `describe`.
using Row = std::vector<std::string>;

struct Description {
  std::vector<Row> rows{{"leaf", "dtype", "shape", "min", "max", "mean", "std", "nan"}};
  int64_t elements = 0, bytes = 0;

  void number(const std::string& path, const Tensor& source) {
    Tensor t = contiguous(source);
    int64_t n = t.num_elems(), nans = 0, used = 0;
    double lo = HUGE_VAL, hi = -HUGE_VAL, mean = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      double x = load_double(t.dtype, t.bytes() + i * size_bytes(t.dtype));
      if (std::isnan(x)) {
        ++nans;
        continue;
      }
      lo = std::min(lo, x);
      hi = std::max(hi, x);
      double step = x - mean;  // Welford: no cancellation
      mean += step / static_cast<double>(++used);
      squares += step * (x - mean);
    }
    elements += n;
    bytes += n * size_bytes(t.dtype);
    auto text = [&](double v) { return used ? float_text(static_cast<float>(v)) : std::string("-"); };
    rows.push_back({path, std::string(name_of(t.dtype)), shape_text(t.sizes), text(lo), text(hi), text(mean),
                    text(std::sqrt(squares / static_cast<double>(std::max<int64_t>(used, 1)))), std::to_string(nans)});
  }

  void visit(const Value& tree) {
    LeafCursor leaves(tree, Nodes::Sequences, kMaxTreeDepth);
    while (const Value* v = leaves.next()) {
      std::string path = leaves.path().text();
      if (path.empty()) path = ".";
      if (trace::is_numeric(*v))
        number(path, trace::operand_of(*v).value());
      else
        rows.push_back({path, std::string(type_name(*v))});
    }
    if (leaves.too_deep()) throw runtime_error(fmt::format("describe: nested deeper than {} levels", kMaxTreeDepth));
  }

  std::string str() const {
    std::vector<size_t> width(rows[0].size(), 0);
    for (const Row& r : rows)
      for (size_t i = 0; i < r.size(); ++i)
        width[i] = std::max(width[i], r[i].size());
    std::string out;
    for (const Row& r : rows) {
      std::string line;
      for (size_t i = 0; i < r.size(); ++i) {
        if (i > 0) line += "  ";
        line += i < 3 ? fmt::format("{:<{}}", r[i], width[i]) : fmt::format("{:>{}}", r[i], width[i]);
      }
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return out + fmt::format("total: {} parameters, {} bytes\n", elements, bytes);
  }
};

Value describe(Call& c) {
  Description d;
  d.visit(trace::concrete_tree(c[0]));
  write_out(d.str());
  return Value::nil();
}

const BuiltinDef kBuiltins[] = {
    {"equal?",
     "Testing",
     "(equal? a b)",
     "Are two trees the same: types, keys, dtypes, shapes and values all the way down? NaN equals NaN.",
     {{"(equal? {:a [1 2]} {:a [1 2]})", "true"}, {"(equal? 2 2.0)", "false"}},
     2,
     2,
     [](Call& c) { return Value::boolean(tree_equal(trace::concrete_tree(c[0]), trace::concrete_tree(c[1]))); }},
    {"allclose",
     "Testing",
     "(allclose a b [:rtol 1e-5] [:atol 1e-8] [:equal-nan])",
     "Is every number of a within atol + rtol |b| of its partner in b? Shapes broadcast; in trees the structure must "
     "agree.",
     {{"(allclose [1 2] [1.000001 2])", "true"},
      {"(allclose [1 2] [1.1 2] :atol 0.2)", "true"},
      {"(allclose [1 2] [1.1 2])", "false"}},
     2,
     2,
     allclose,
     "rtol atol equal-nan"},
    {"is-close",
     "Testing",
     "(is-close actual expected [:rtol 1e-5] [:atol 1e-8] [:equal-nan])",
     "True when every number is within atol + rtol |expected|; otherwise an error that shows the element that misses "
     "by most.",
     {{"(is-close [1 2] [1.000001 2])", "true"},
      {"(try (is-close [1 2] [1 3]) (catch e (get e :message)))",
       "is-close: 1 of 2 elements differ; the worst, at [1]: got 2.0, expected 3.0 (difference 1, allowed 3e-05)"}},
     2,
     2,
     is_close,
     "rtol atol equal-nan"},
    {"describe",
     "Looking",
     "(describe tree)",
     "Prints a line for every leaf of a tree: dtype, shape, least, greatest, mean, standard deviation (of what is not "
     "NaN), NaNs; and the totals.",
     {{"(describe {:w [[1 2] [3 4]] :b [0 0 0]})",
       "leaf  dtype  shape   min  max  mean       std  nan\n"
       "b     f32    [3]     0.0  0.0   0.0       0.0    0\n"
       "w     f32    [2, 2]  1.0  4.0   2.5  1.118034    0\n"
       "total: 7 parameters, 28 bytes"}},
     1,
     1,
     describe,
     {},
     Effect::Output},
};

}  // namespace

std::span<const BuiltinDef> test_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
