// Complex numbers: made of real ones and taken apart. What is computed with them is the ops' matter (ops/complex.h).
#include "ops/complex.h"

#include <fmt/format.h>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"

namespace sheaf::builtins {
namespace {

using ops::operator-;

Operand real_f32(const Value& v, std::string_view who) {
  Operand x = num(v).x;
  ops::check_real(x, who);
  return ops::cast(x, DType::F32);
}

Value complex(Call& c) {
  Operand re = real_f32(c[0], "complex"), im = c.size() > 1 ? real_f32(c[1], "complex") : ops::constant(DType::F32, 0);
  return tensor_value(ops::complex_of(std::move(re), std::move(im)));
}

bool is_complex_value(const Value& v) { return is_complex(num(v).x.dtype()); }

// Real numbers are what they were.
Value real(Call& c) { return is_complex_value(c[0]) ? tensor_value(ops::real_part(num(c[0]).x)) : c[0]; }

Value imag(Call& c) {
  Num n = num(c[0]);
  if (is_complex_value(c[0])) return tensor_value(ops::imag_part(n.x));
  return trace::to_value(ops::zeros(n.x.type()), n.kind);
}

Value conj(Call& c) {
  if (!is_complex_value(c[0])) return c[0];
  auto [re, im] = ops::parts_of(num(c[0]).x);
  return tensor_value(ops::complex_of(re, -im));
}

Value as_pair(Call& c) { return tensor_value(ops::as_pair(ops::cast(num(c[0]).x, DType::C64))); }

Value from_pair(Call& c) {
  Operand x = array_operand(c[0], "from-pair");
  ops::check_real(x, "from-pair");
  const int last = x.rank() - 1;
  if (last < 0 || !(x.size(last) == Size(2)))
    throw runtime_error(fmt::format("from-pair: expected real and imaginary parts in a last axis of 2, got shape {}",
                                    shape_text(x.sizes())));
  return tensor_value(ops::from_pair(ops::cast(x, DType::F32)));
}

constexpr std::string_view kComplex = "Complex numbers";

const BuiltinDef kBuiltins[] = {
    {"complex",
     kComplex,
     "(complex re [im])",
     "Complex numbers, c64, from real and imaginary parts, which broadcast; they are rounded to f32. Without `im` that "
     "is 0. Of two numbers it is an array without axes.",
     {{"(complex 1 -2)", "1.-2.j"}, {"(complex [1 2] 0.5)", "[1.+0.5j 2.+0.5j]"}},
     1,
     2,
     complex},
    {"real",
     kComplex,
     "(real z)",
     "The real part of complex numbers as f32; real numbers are returned as they are.",
     {{"(real (complex [1 2] 3))", "[1. 2.]"}, {"(real 5)", "5"}},
     1,
     1,
     real},
    {"imag",
     kComplex,
     "(imag z)",
     "The imaginary part of complex numbers as f32; zeros for real numbers.",
     {{"(imag (complex [1 2] 3))", "[3. 3.]"}},
     1,
     1,
     imag},
    {"conj",
     kComplex,
     "(conj z)",
     "The conjugate: complex numbers with the imaginary part negated; real numbers are returned as they are.",
     {{"(conj (complex 1 2))", "1.-2.j"}},
     1,
     1,
     conj},
    {"as-pair",
     kComplex,
     "(as-pair z)",
     "Complex numbers as pairs of f32 in a last axis, real and imaginary part: what the Fourier transforms take and "
     "give besides c64.",
     {{"(as-pair (complex [1 2] 3))", "[[1. 3.]\n [2. 3.]]"}},
     1,
     1,
     as_pair},
    {"from-pair",
     kComplex,
     "(from-pair x)",
     "Complex numbers from pairs in a last axis of 2, real and imaginary part: the inverse of `as-pair`.",
     {{"(from-pair [[1 3] [2 3]])", "[1.+3.j 2.+3.j]"}},
     1,
     1,
     from_pair},
};

}  // namespace

std::span<const BuiltinDef> complex_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
