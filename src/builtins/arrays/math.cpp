// Conversions around functions of the library that are computed in several steps. Elementary functions themselves come
// from the entries of their ops (op_functions.cpp).
#include <fmt/format.h>

#include "builtins/arrays/families.h"
#include "builtins/core/numeric.h"
#include "ops/random.h"

namespace sheaf::builtins {
namespace {

// An int tensor as f32, everything else as it is: the operation that follows says what it thinks of it.
Value floating(Call& c) {
  if (!is_tensor_value(c[0]) || is_inexact(num(c[0]).x.dtype())) return c[0];
  return tensor_value(ops::cast(num(c[0]).x, DType::F32));
}

bool is_narrow_tensor(const Value& v) {
  if (!is_tensor_value(v)) return false;
  DType d = num(v).x.dtype();
  return is_float(d) && compute_type(d) != d;
}

// What is computed in several steps rounds narrow floats once, at the end: (%narrow (… (%wide x) …) x). Everything else
// stays as it is.
Value wide(Call& c) {
  return is_narrow_tensor(c[0]) ? tensor_value(ops::cast(num(c[0]).x, compute_type(num(c[0]).x.dtype()))) : c[0];
}
Value narrow(Call& c) {
  return is_narrow_tensor(c[1]) ? tensor_value(ops::cast(num(c[0]).x, num(c[1]).x.dtype())) : c[0];
}

// (polygamma n x): digamma for 0, else its n-th derivative.
Value polygamma(Call& c) {
  constexpr int64_t kLargestOrder = 20;
  int64_t n = to_index(c[0], "polygamma");
  if (n < 0 || n > kLargestOrder)
    throw runtime_error(fmt::format("polygamma: expected an order from 0 to {}, got {}", kLargestOrder, n));
  Num x = num(c[1]);
  Operand in = x.is_scalar() ? ops::cast(x.x, DType::F64) : ops::cast(x.x, float_dtype(x.x.dtype()));
  Operand y = n == 0 ? ops::apply1("digamma", in) : graph::apply(ops::op("polygamma"), {in}, {{"order", n}});
  return x.is_scalar() ? trace::to_value(ops::cast(y, DType::F32), Kind::Float) : tensor_value(y);
}

Value nextafter(Call& c) {
  auto [a, b] = nums(c[0], c[1]);
  DType d = float_dtype(common_dtype(a, b));
  Sizes sizes = ops::broadcast_sizes(a.x.sizes(), b.x.sizes());
  Operand x = ops::broadcast_to(ops::cast(a.x, d), sizes), to = ops::broadcast_to(ops::cast(b.x, d), sizes);
  Operand next = ops::where(ops::less(x, to), ops::next_after(x, true), ops::next_after(x, false));
  Operand y = ops::where(ops::equal(x, to), to, next);
  y = ops::where(ops::equal(to, to), y, to);
  return a.is_scalar() && b.is_scalar() ? element_value(y) : tensor_value(y);
}

const BuiltinDef kBuiltins[] = {
    {"nextafter",
     "Elementary functions",
     "(nextafter x to)",
     "The next number of x's dtype in the direction of another one, element-wise; `to` where they are equal.",
     {{"(- (nextafter [1 1] [2 0]) 1)", "[  0.00000011920929 -0.000000059604645]"}},
     2,
     2,
     nextafter},
    {"polygamma",
     "Elementary functions",
     "(polygamma n x)",
     "The n-th derivative of digamma, element-wise; for n of 1 and more x is positive, else the result is NaN.",
     {{"(polygamma 1 [1 0.5])", "[1.644934 4.934802]"}},
     2,
     2,
     polygamma},
    {"%floating", "", "", "", {}, 1, 1, floating},
    {"%wide", "", "", "", {}, 1, 1, wide},
    {"%narrow", "", "", "", {}, 2, 2, narrow},
};

}  // namespace

std::span<const BuiltinDef> math_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
