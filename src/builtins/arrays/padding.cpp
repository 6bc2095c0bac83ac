// Padding around an array: a constant, or the array's own elements in some order.
#include <fmt/format.h>

#include <algorithm>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

enum class Mode : uint8_t { Constant, Edge, Reflect, Symmetric, Wrap };

// NumPy's names, and PyTorch's.
Mode mode_of(const Value* option) {
  constexpr std::pair<std::string_view, Mode> kModes[] = {
      {"constant", Mode::Constant},   {"edge", Mode::Edge}, {"replicate", Mode::Edge}, {"reflect", Mode::Reflect},
      {"symmetric", Mode::Symmetric}, {"wrap", Mode::Wrap}, {"circular", Mode::Wrap}};
  if (!option || option->is_nil()) return Mode::Constant;
  if (is_key(*option))
    for (auto [name, mode] : kModes)
      if (key_name(*option).str() == name) return mode;
  throw runtime_error(fmt::format("pad: unknown :mode {}", short_text(*option)))
      .hint("the modes are :constant, :edge (or :replicate), :reflect, :symmetric, :wrap (or :circular)");
}

// Widths before and after each axis.
struct Widths {
  Sizes lo, hi;
};

// One number for all sides, [before after] for all axes, or one such pair per axis.
Widths widths_of(const Value& v, int rank) {
  Operand spec = array_operand(v, "pad", DType::I64);
  std::vector<int64_t> w = to_ints(tensor_value(ops::reshape(spec, {num_elems(spec.sizes())})), "pad");
  bool pairs = spec.rank() == 2 && w.size() == 2 * static_cast<size_t>(rank);
  if (w.empty() || (w.size() > 2 && !pairs))
    throw runtime_error(fmt::format("pad: expected a number, [before after], or {} such pairs, got shape {}", rank,
                                    shape_text(spec.sizes())));
  for (int64_t n : w)
    if (n < 0) throw runtime_error(fmt::format("pad: widths must not be negative, got {}", n));
  Widths out;
  for (int i = 0; i < rank; ++i) {
    size_t first = pairs ? 2 * i : 0;
    out.lo.push_back(w[first]);
    out.hi.push_back(w[std::min(first + 1, w.size() - 1)]);
  }
  return out;
}

// The index of the element at position i, which may be before the first or after the last of n.
int64_t source(Mode mode, int64_t i, int64_t n) {
  auto within = [](int64_t k, int64_t period) { return (k % period + period) % period; };
  switch (mode) {
    case Mode::Edge: return std::clamp<int64_t>(i, 0, n - 1);
    case Mode::Wrap: return within(i, n);
    case Mode::Symmetric: {
      int64_t k = within(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    default: {
      if (n == 1) return 0;
      int64_t k = within(i, 2 * n - 2);
      return k < n ? k : 2 * n - 2 - k;
    }
  }
}

Operand padded_along(const Operand& x, int axis, int64_t lo, int64_t hi, Mode mode) {
  if (lo == 0 && hi == 0) return x;
  int64_t n = x.size(axis).value();
  if (n == 0) throw runtime_error(fmt::format("pad: axis {} is empty, and only :constant needs no elements", axis));
  std::vector<int64_t> index;
  for (int64_t i = -lo; i < n + hi; ++i)
    index.push_back(source(mode, i, n));
  return ops::take(x, tensor_of(DType::I64, {lo + n + hi}, index.data()), axis, ops::kInRange, false);
}

Value pad(Call& c) {
  Operand x = tensor_operand(c[0], "pad");
  int rank = x.rank();
  Widths w = widths_of(c[1], rank);
  Mode mode = mode_of(c.option("mode"));
  const Value* fill = c.option("value");
  if (!fill && c.size() > 2) fill = &c[2];
  if (mode == Mode::Constant)
    return tensor_value(ops::pad(x, w.lo, w.hi, Sizes(rank, Size(0)), fill ? to_double(*fill, "pad") : 0));
  if (fill) throw runtime_error("pad: :value is for :mode :constant");
  for (int i = 0; i < rank; ++i)
    x = padded_along(x, i, w.lo[i].value(), w.hi[i].value(), mode);
  return tensor_value(x);
}

const BuiltinDef kBuiltins[] = {
    {"pad",
     "Shape manipulation",
     "(pad x widths [:value v] [:mode m])",
     "With elements around: widths is a number, [before after], or one such pair per axis. :mode says which: :constant "
     "(the :value, 0), :edge or :replicate (the nearest), :reflect (mirrored at the last element), :symmetric "
     "(mirrored "
     "behind it), :wrap or :circular (from the other end).",
     {{"(pad [1 2] 1)", "[0. 1. 2. 0.]"},
      {"(pad [[1]] [[0 1] [1 0]] :value 9)", "[[9. 1.]\n [9. 9.]]"},
      {"(pad [1 2 3] 2 :mode :reflect)", "[3. 2. 1. 2. 3. 2. 1.]"}},
     2,
     3,
     pad,
     "value mode="},
};

}  // namespace

std::span<const BuiltinDef> padding_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
