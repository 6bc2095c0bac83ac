// Comparison of whole trees, and a look at their leaves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builtins/core/numeric.h"
#include "builtins/host/families.h"
#include "builtins/host/output.h"
#include "tensor/complex_element.h"
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
  if (is_complex(a.x.dtype()) || is_complex(b.x.dtype())) return DType::C64;
  return a.x.dtype() == DType::F64 || b.x.dtype() == DType::F64 ? DType::F64 : DType::F32;
}

// Bool, 0-d: |a - b| <= atol + rtol |b| everywhere (equal infinities included).
Operand all_close(const Num& a, const Num& b, const Tolerance& t) {
  const DType d = comparison_dtype(a, b), size = is_complex(d) ? DType::F32 : d;
  Operand x = converted(a, d), y = converted(b, d);
  Operand allowed = ops::add(ops::constant(size, t.atol), ops::mul(ops::constant(size, t.rtol), ops::apply1("abs", y)));
  // An infinite b would allow everything.
  Operand finite = ops::less(ops::apply1("abs", y), ops::constant(size, HUGE_VAL));
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
  if (t.dtype == DType::F32) return brief_number(static_cast<float>(element_as_double(t, i)));
  std::string s = element_text(t, i);
  return s.ends_with('.') ? s + '0' : s;
}

// Of a contiguous tensor.
std::complex<double> element(const Tensor& t, int64_t i) {
  return load_complex(t.dtype, t.bytes() + i * size_bytes(t.dtype));
}
bool is_nan(std::complex<double> z) { return std::isnan(z.real()) || std::isnan(z.imag()); }

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
    std::complex<double> p = element(x, i), q = element(y, i);
    double allowed = t.atol + t.rtol * std::abs(q), miss = std::abs(p - q);
    if (p == q || (miss <= allowed && std::isfinite(std::abs(q))) || (t.equal_nan && is_nan(p) && is_nan(q))) continue;
    ++bad;
    double excess = miss - allowed;
    if (std::isnan(excess)) excess = HUGE_VAL;
    if (worst < 0 || excess > worst_excess) worst = i, worst_excess = excess;
  }
  if (bad == 0) return;
  std::complex<double> p = element(x, worst), q = element(y, worst);
  std::string values = fmt::format("got {}, expected {} (difference {:.3g}, allowed {:.3g})", scalar_text(x, worst),
                                   scalar_text(y, worst), std::abs(p - q), t.atol + t.rtol * std::abs(q));
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

// How `is` shows a value: on one line, in full where that is short.
std::string operand_text(const Value& v) {
  constexpr size_t kMaxText = 72;
  if (v.is_string()) return brief_string(v.as_string());
  if (v.is_float()) return brief_number(v.as_float());
  bool large = v.tag() == Tag::Tensor && trace::operand_of(v).value().num_elems() > 64;
  std::string text = large ? "" : render(v);
  if (text.empty() || text.size() > kMaxText || text.find('\n') != std::string::npos) return short_text(v);
  return text;
}

// Where two texts part, counted in characters.
std::string text_difference(std::string_view a, std::string_view b) {
  size_t same = 0;
  while (same < std::min(a.size(), b.size()) && a[same] == b[same])
    ++same;
  auto continues = [](char ch) { return (static_cast<unsigned char>(ch) & 0xC0) == 0x80; };
  while (same > 0 && ((same < a.size() && continues(a[same])) || (same < b.size() && continues(b[same]))))
    --same;
  auto position =
      std::count_if(a.begin(), a.begin() + static_cast<ptrdiff_t>(same), [&](char c) { return !continues(c); });
  auto rest = [&](std::string_view s) {
    return same < s.size() ? brief_string(std::string(s.substr(same))) : std::string("the end");
  };
  return fmt::format("they part at position {}: {} and {}", position, rest(a), rest(b));
}

// How far two numbers or arrays are apart, or "" when they are equal.
std::string numeric_difference(const Operand& a, const Operand& b) {
  Sizes sizes = a.sizes();
  if (a.rank() != 0 && b.rank() != 0 && !(sizes == b.sizes()))
    return fmt::format("shapes {} and {}", shape_text(sizes), shape_text(b.sizes()));
  if (a.rank() == 0) sizes = b.sizes();
  Tensor x = contiguous(ops::broadcast_to(a, sizes).value()), y = contiguous(ops::broadcast_to(b, sizes).value());
  int64_t differ = 0, worst = -1, n = x.num_elems();
  double most = 0;
  for (int64_t i = 0; i < n; ++i) {
    std::complex<double> p = element(x, i), q = element(y, i);
    if (p == q || (is_nan(p) && is_nan(q))) continue;
    ++differ;
    double apart = is_nan(p - q) ? HUGE_VAL : std::abs(p - q);
    if (worst < 0 || apart > most) worst = i, most = apart;
  }
  if (differ == 0) return "";
  if (sizes.empty() && (is_complex(x.dtype) || is_complex(y.dtype))) return fmt::format("{:.6g}", most);
  if (sizes.empty()) return fmt::format("{:.6g}", element_as_double(x, 0) - element_as_double(y, 0));
  return fmt::format("{} of {} elements differ; the worst, at {}: {} and {} (difference {:.3g})", differ, n,
                     element_place(x.sizes, worst), scalar_text(x, worst), scalar_text(y, worst), most);
}

std::string leaf_difference(const Value& a, const Value& b) {
  if (a.is_string() && b.is_string())
    return a.as_string() == b.as_string() ? "" : text_difference(a.as_string(), b.as_string());
  if (trace::is_numeric(a) && trace::is_numeric(b))
    if (std::string d = numeric_difference(num(a).x, num(b).x); !d.empty()) return d;
  if (tree_equal(a, b)) return "";
  auto kind = [](const Value& v) {
    return v.tag() == Tag::Tensor ? tensor_type_text(v.as_tensor()) : std::string(type_name(v));
  };
  return kind(a) == kind(b) ? "" : fmt::format("{} and {}", kind(a), kind(b));
}

// The first place where two trees differ, and how.
std::string difference(const Value& a, const Value& b) {
  std::string first;
  auto found = [&](const std::string& path, const std::string& what) {
    if (first.empty() && !what.empty()) first = path.empty() ? what : fmt::format("at {}: {}", path, what);
  };
  walk_together(
      "", a, b,
      [&](const std::string& path, const Value& x, const Value& y) {
        if (first.empty()) found(path, leaf_difference(x, y));
      },
      found);
  return first;
}

// (%is-comparison text-of-form text-of-left text-of-right result left right)
Value is_comparison(Call& c) {
  if (is_true(c[3])) return Value::boolean(true);
  Value left = trace::concrete_tree(c[4]), right = trace::concrete_tree(c[5]);
  auto line = [&](const char* side, const Value& written, const Value& v) {
    std::string text = operand_text(v);
    return fmt::format("\n  {:<7}{}{}", side, written.as_string() == text ? "" : written.as_string() + " = ", text);
  };
  std::string message = fmt::format("is: {} gave {}", c[0].as_string(), render(trace::concrete_tree(c[3])));
  message += line("left:", c[1], left) + line("right:", c[2], right);
  if (std::string d = difference(left, right); !d.empty()) message += "\n  difference: " + d;
  throw runtime_error(std::move(message));
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
      double x = load_size(t.dtype, t.bytes() + i * size_bytes(t.dtype));
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
    auto text = [&](double v) { return used ? brief_number(static_cast<float>(v)) : std::string("-"); };
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
    {"%is-comparison", "", "", "", {}, 6, 6, is_comparison},
};

}  // namespace

std::span<const BuiltinDef> test_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
