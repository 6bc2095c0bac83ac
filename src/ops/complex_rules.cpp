// Ops of complex numbers, written with those of their parts. Elementary functions are computed in f64 and rounded once:
// squares of f32 are exact there and cannot overflow. Predicates choose between formulas instead of `maximum` and
// `abs`, whose derivatives at ties and at 0 are not those of the whole.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/rules.h"
#include "ops/update.h"
#include "support/error.h"

namespace sheaf::ops {
namespace {

constexpr double kHuge = 1e200;  // infinite in f32, but 0 times it is 0

Operand joined(const Parts& z) { return complex_of(cast(z.re, DType::F32), cast(z.im, DType::F32)); }
Parts wide(const Operand& z) {
  Parts p = parts_of(z);
  return {cast(p.re, DType::F64), cast(p.im, DType::F64)};
}
Operand both(Operand a, Operand b) { return apply2("bit_and", std::move(a), std::move(b)); }
Operand either(Operand a, Operand b) { return apply2("bit_or", std::move(a), std::move(b)); }
Operand at_least(const Operand& a, const Operand& b) { return less_equal(b, a); }
Operand magnitude(const Operand& x) { return where(less(x, like(x, 0)), -x, x); }

Operand product(const Operand& a, const Operand& b) {
  auto [x, y] = parts_of(a);
  auto [u, v] = parts_of(b);
  return complex_of(x * u - y * v, x * v + y * u);
}

// R. L. Smith, Algorithm 116: over the larger part of the divisor first. Over 0 each part is divided by it.
Operand quotient(const Operand& a, const Operand& b) {
  auto [x, y] = parts_of(a);
  auto [u, v] = parts_of(b);
  Operand is_large = at_least(magnitude(u), magnitude(v)), p = where(is_large, u, v), q = where(is_large, v, u),
          zero = like(x, 0), none = equal(p, zero);
  Operand ratio = where(none, zero, q / where(none, like(p, 1), p)), below = p + q * ratio;
  Operand re = where(is_large, x + y * ratio, x * ratio + y), im = where(is_large, y - x * ratio, y * ratio - x);
  return complex_of(re / below, im / below);
}

// Of f64.
Parts exp_of(const Parts& z) {
  Operand e = apply2("minimum", apply1("exp", z.re), like(z.re, kHuge));
  return {e * apply1("cos", z.im), e * apply1("sin", z.im)};
}

// |z|^2 - 1 is exact where it matters: factors and squares of f32 are.
Parts log_of(const Parts& z) {
  const auto& [x, y] = z;
  Operand square = x * x + y * y, one = like(x, 1), zero = like(x, 0), is_small = less(square, like(x, 0.5));
  Operand is_large = at_least(magnitude(x), magnitude(y)), a = where(is_large, x, y), b = where(is_large, y, x);
  Operand more = (a - one) * (a + one) + b * b;
  Operand twice =
      where(is_small, apply1("log", where(is_small, square, one)), apply1("log1p", where(is_small, zero, more)));
  return {like(x, 0.5) * twice, apply2("atan2", y, x)};
}

Parts sqrt_of(const Parts& z) {
  const auto& [x, y] = z;
  Operand zero = like(x, 0), is_right = at_least(x, zero), infinite = apply1("is_inf", y);
  Operand sign = apply2("copy_sign", like(x, 1), y), half = like(x, 0.5);
  Operand t = apply1("sqrt", (apply1("sqrt", x * x + y * y) + where(is_right, x, -x)) * half);
  Operand other = where(equal(t, zero), y, half * y / t);
  Operand re = where(is_right, t, sign * other), im = where(is_right, other, sign * t);
  return {where(infinite, magnitude(y), re), where(infinite, y, im)};
}

struct Hyperbolic {
  Operand sinh, cosh;
};
Hyperbolic hyperbolic(const Operand& x) {
  auto limited = [&](std::string_view name) {
    return apply2("maximum", apply2("minimum", apply1(name, x), like(x, kHuge)), like(x, -kHuge));
  };
  return {limited("sinh"), limited("cosh")};
}

Parts sin_of(const Parts& z) {
  auto [sinh, cosh] = hyperbolic(z.im);
  return {apply1("sin", z.re) * cosh, apply1("cos", z.re) * sinh};
}
Parts cos_of(const Parts& z) {
  auto [sinh, cosh] = hyperbolic(z.im);
  return {apply1("cos", z.re) * cosh, -(apply1("sin", z.re) * sinh)};
}
// Beyond 60 tanh is 1 to the last digit, and what is left of the other part is 0.
Parts tanh_of(const Parts& z) {
  Operand x = apply2("maximum", apply2("minimum", z.re, like(z.re, 60)), like(z.re, -60));
  Operand sinh = apply1("sinh", x), cosh = apply1("cosh", x), sin = apply1("sin", z.im), cos = apply1("cos", z.im);
  Operand below = sinh * sinh + cos * cos;
  return {sinh * cosh / below, sin * cos / below};
}
// f(z) = -i g(iz) for sinh of sin, tan of tanh; cosh z = cos(iz).
Parts times_i(const Parts& z) { return {-z.im, z.re}; }
Parts over_i(const Parts& z) { return {z.im, -z.re}; }

// e^(b log a); 0 to the power of 0 is 1.
Parts pow_of(const Parts& a, const Parts& b) {
  Operand zero = like(a.re, 0), one = like(a.re, 1), none = both(equal(a.re, zero), equal(a.im, zero));
  auto [length, angle] = log_of({where(none, one, a.re), a.im});
  Parts y = exp_of({b.re * length - b.im * angle, b.im * length + b.re * angle});
  Operand is_zero = both(equal(b.re, zero), equal(b.im, zero)), undefined = like(zero, NAN);
  Operand of_zero = where(is_zero, one, where(less(zero, b.re), zero, undefined));
  Operand rest = where(either(is_zero, less(zero, b.re)), zero, undefined);
  return {where(none, of_zero, y.re), where(none, rest, y.im)};
}

template <Parts (*kFunction)(const Parts&)>
std::vector<Operand> elementary(const ComplexCtx& c) {
  return {joined(kFunction(wide(c.inputs[0])))};
}

// The rows of axis 1 from `first` on.
Operand rows(const Operand& x, int64_t first, int64_t count) { return slice_axis(x, 1, Size(first), Size(count)); }

}  // namespace

std::vector<Operand> complex_by_parts(const ComplexCtx& c) {
  std::vector<Operand> re, im;
  for (const Operand& x : c.inputs) {
    re.push_back(is_complex(x.dtype()) ? real_part(x) : x);
    im.push_back(is_complex(x.dtype()) ? imag_part(x) : x);
  }
  return {complex_of(graph::apply(c.op, std::move(re), c.attrs), graph::apply(c.op, std::move(im), c.attrs))};
}

std::vector<Operand> complex_mul(const ComplexCtx& c) { return {product(c.inputs[0], c.inputs[1])}; }
std::vector<Operand> complex_div(const ComplexCtx& c) { return {quotient(c.inputs[0], c.inputs[1])}; }
std::vector<Operand> complex_pow(const ComplexCtx& c) { return {joined(pow_of(wide(c.inputs[0]), wide(c.inputs[1])))}; }
std::vector<Operand> complex_abs(const ComplexCtx& c) {
  return {apply2("hypot", real_part(c.inputs[0]), imag_part(c.inputs[0]))};
}
std::vector<Operand> complex_sign(const ComplexCtx& c) {
  auto [x, y] = parts_of(c.inputs[0]);
  Operand r = apply2("hypot", x, y), divisor = where(equal(r, like(r, 0)), like(r, 1), r);
  return {complex_of(x / divisor, y / divisor)};
}

std::vector<Operand> complex_exp(const ComplexCtx& c) { return elementary<exp_of>(c); }
std::vector<Operand> complex_log(const ComplexCtx& c) { return elementary<log_of>(c); }
std::vector<Operand> complex_log2(const ComplexCtx& c) {
  auto [re, im] = log_of(wide(c.inputs[0]));
  Operand scale = like(re, std::numbers::log2e);
  return {joined({re * scale, im * scale})};
}
std::vector<Operand> complex_log10(const ComplexCtx& c) {
  auto [re, im] = log_of(wide(c.inputs[0]));
  Operand scale = like(re, std::numbers::log10e);
  return {joined({re * scale, im * scale})};
}
std::vector<Operand> complex_sqrt(const ComplexCtx& c) { return elementary<sqrt_of>(c); }
std::vector<Operand> complex_sin(const ComplexCtx& c) { return elementary<sin_of>(c); }
std::vector<Operand> complex_cos(const ComplexCtx& c) { return elementary<cos_of>(c); }
std::vector<Operand> complex_tan(const ComplexCtx& c) { return {joined(over_i(tanh_of(times_i(wide(c.inputs[0])))))}; }
std::vector<Operand> complex_sinh(const ComplexCtx& c) { return {joined(over_i(sin_of(times_i(wide(c.inputs[0])))))}; }
std::vector<Operand> complex_cosh(const ComplexCtx& c) { return {joined(cos_of(times_i(wide(c.inputs[0]))))}; }
std::vector<Operand> complex_tanh(const ComplexCtx& c) { return elementary<tanh_of>(c); }

std::vector<Operand> complex_cast(const ComplexCtx& c) {
  const DType to = c.attrs.get<DType>("dtype");
  if (to != DType::Bool)
    throw runtime_error("expected real numbers, got " + graph::type_text(c.inputs[0].type()))
        .hint("(real x) and (cast x :f32) drop imaginary parts");
  auto [x, y] = parts_of(c.inputs[0]);
  return {either(cast(x, to), cast(y, to))};
}

std::vector<Operand> complex_both(const ComplexCtx& c) {
  std::vector<Operand> re, im;
  for (const Operand& x : c.inputs) {
    re.push_back(real_part(x));
    im.push_back(imag_part(x));
  }
  return {both(graph::apply(c.op, re, c.attrs), graph::apply(c.op, im, c.attrs))};
}
std::vector<Operand> complex_either(const ComplexCtx& c) {
  return {either(graph::apply(c.op, {real_part(c.inputs[0])}), graph::apply(c.op, {imag_part(c.inputs[0])}))};
}

// Pairs of rows, again and again; an odd one waits at the end.
std::vector<Operand> complex_product(const ComplexCtx& c) {
  const Operand& z = c.inputs[0];
  const std::vector<int> axes = int_list(c.attrs, "axes");
  std::vector<int> perm;
  Sizes kept, result;
  Size n = 1;
  for (int i = 0; i < z.rank(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) perm.push_back(i), kept.push_back(z.size(i));
    if (reduced) n = n * z.size(i);
    if (!reduced || c.attrs.flag("keepdims")) result.push_back(reduced ? Size(1) : z.size(i));
  }
  Size outer = 1;
  for (Size s : kept)
    outer = outer * s;
  perm.insert(perm.end(), axes.begin(), axes.end());
  Operand y = reshape(transpose(z, perm), {outer, n});
  int64_t count = n.value();
  if (count == 0) return {full({DType::C64, result}, 1)};
  for (; count > 1; count = (count + 1) / 2) {
    const int64_t half = count / 2;
    Operand pairs = product(rows(y, 0, half), rows(y, half, half));
    y = count % 2 == 0 ? pairs : concat({pairs, rows(y, count - 1, 1)}, 1);
  }
  return {reshape(y, result)};
}

// Sums by parts. In a running product each element takes in the one 1, 2, 4, … before it.
std::vector<Operand> complex_cumulate(const ComplexCtx& c) {
  enum What : int64_t { Sum, Product };
  const int64_t what = c.attrs.integer("what");
  if (what == Sum) return complex_by_parts(c);
  if (what != Product) refuse_complex(c);
  Operand y = c.inputs[0];
  const int64_t n = y.size(1).value();
  for (int64_t step = 1; step < n; step *= 2)
    y = concat({rows(y, 0, step), product(rows(y, step, n - step), rows(y, 0, n - step))}, 1);
  return {y};
}

std::vector<Operand> complex_dot(const ComplexCtx& c) {
  auto [x, y] = parts_of(c.inputs[0]);
  auto [u, v] = parts_of(c.inputs[1]);
  return {complex_of(dot(x, u) - dot(y, v), dot(x, v) + dot(y, u))};
}

// Zeros have the bits of zeros.
std::vector<Operand> complex_pad(const ComplexCtx& c) {
  const double value = c.attrs.get<double>("value");
  if (value == 0) return {};
  auto padded = [&](Operand x, double with) {
    return pad(std::move(x), c.attrs.sizes("lo"), c.attrs.sizes("hi"), c.attrs.sizes("interior"), with);
  };
  return {complex_of(padded(real_part(c.inputs[0]), value), padded(imag_part(c.inputs[0]), 0))};
}

std::vector<Operand> complex_update(const ComplexCtx& c) {
  switch (static_cast<Update>(c.attrs.integer("how"))) {
    case Update::Set: return {};
    case Update::Add: return complex_by_parts(c);
    default: refuse_complex(c);
  }
}

}  // namespace sheaf::ops
