#include "builtins/host/series.h"

#include <fmt/format.h>

#include <cmath>

#include "builtins/core/numeric.h"
#include "value/print.h"

namespace sheaf::builtins {

std::vector<double> series_of(const Value& v, std::string_view who) {
  std::vector<double> out;
  Value now = trace::concrete_tree(v);
  if (now.is_tensor()) {
    const Tensor& t = now.as_tensor();
    for (int64_t i = 0; i < t.num_elems(); ++i)
      out.push_back(element_as_double(t, i));
  } else if (now.is_seq()) {
    for (const Value& x : now.items())
      out.push_back(x.is_nil() ? NAN : to_double(x, who));
  } else {
    out.push_back(to_double(now, who));
  }
  return out;
}

std::string short_number(double x) {
  if (!std::isfinite(x)) return float_text(static_cast<float>(x));
  if (x == std::floor(x) && std::fabs(x) < 1e9) return fmt::format("{:.0f}", x);
  return fmt::format("{:.4g}", x);
}

}  // namespace sheaf::builtins
