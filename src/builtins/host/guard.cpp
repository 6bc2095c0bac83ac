#include "builtins/host/guard.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/error.h"
#include "tensor/complex_element.h"
#include "trace/traced.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::builtins {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string bound_text(double x) {
  return x == std::floor(x) && std::fabs(x) < 1e15 ? fmt::format("{:.1f}", x)
                                                   : fmt::format("{}", static_cast<float>(x));
}

std::optional<std::string> not_finite_leaf(const Value& v) {
  if (v.is_float() && !std::isfinite(v.as_float()))
    return std::isnan(v.as_float()) ? "Value is NaN" : fmt::format("Value is NaN or Inf: {}", v.as_float());
  if (!v.is_tensor()) return std::nullopt;
  Extent x = extent_of(v.as_tensor());
  if (x.finite) return std::nullopt;
  return fmt::format("Tensor contains NaN or Inf values: {} [min:{} max:{}]", tensor_type_text(v.as_tensor()),
                     scientific(x.lo), scientific(x.hi));
}

std::optional<std::string> not_finite(const Value& tree) {
  LeafCursor leaves(tree);
  while (const Value* v = leaves.next()) {
    auto wrong = not_finite_leaf(*v);
    if (!wrong) continue;
    std::string where;
    for (const Value& step : leaves.path().steps())
      where += step.is_int() ? fmt::format("[{}] -> ", step.as_int()) : ":" + step.as_keyword().str() + " -> ";
    return where + *wrong;
  }
  return std::nullopt;
}

}  // namespace

std::string scientific(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::string s = fmt::format("{:.2e}", x);
  size_t e = s.find('e');
  return s.substr(0, e + 1) + std::to_string(std::stoi(s.substr(e + 1)));
}

Extent extent_of(const Tensor& t) {
  Extent x{kInf, -kInf, true};
  const std::byte* base = t.buffer->host();
  int width = size_bytes(t.dtype);
  for_each_offset(t, [&](int64_t off) {
    double v = load_size(t.dtype, base + off * width);
    x.lo = std::fmin(x.lo, v);
    x.hi = std::fmax(x.hi, v);
    x.finite &= std::isfinite(v);
  });
  return x;
}

std::string check_text(const GuardCheck& c) {
  switch (c.kind) {
    case GuardCheck::NoNan: return "NoNan";
    case GuardCheck::Range: return fmt::format("Range {{ lo: {}, hi: {} }}", bound_text(c.lo), bound_text(c.hi));
    case GuardCheck::Shape: return fmt::format("Shape({})", shape_text(Dims(c.dims.begin(), c.dims.end())));
  }
  return "";
}

std::optional<std::string> breach(const GuardCheck& c, const Value& value) {
  Value v = trace::concrete_tree(value);
  switch (c.kind) {
    case GuardCheck::NoNan: return not_finite(v);
    case GuardCheck::Range: {
      Extent x{kInf, -kInf, true};
      if (v.is_tensor())
        x = extent_of(v.as_tensor());
      else if (v.is_number())
        x.lo = x.hi = v.number();
      else
        return std::nullopt;
      bool nan = !(x.lo <= x.hi) && !x.finite;
      if (!nan && !(x.lo < c.lo) && !(x.hi > c.hi)) return std::nullopt;
      return fmt::format("Value range [{}, {}] outside allowed [{}, {}]", scientific(x.lo), scientific(x.hi),
                         scientific(c.lo), scientific(c.hi));
    }
    case GuardCheck::Shape: {
      Dims got;
      if (v.is_tensor())
        got = v.as_tensor().sizes;
      else if (!v.is_number())
        return std::nullopt;
      Dims want(c.dims.begin(), c.dims.end());
      if (got == want) return std::nullopt;
      return "Shape mismatch: expected " + shape_text(want) + ", got " + shape_text(got);
    }
  }
  return std::nullopt;
}

}  // namespace sheaf::builtins
