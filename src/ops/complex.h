// Complex numbers as pairs of real ones: how rules take operands apart and join results (docs/design/complex.md), and
// the rules that entries name in their field `complex`. `real_part` of what `complex_of` has joined is the part itself,
// so that chains of rules join once.
#pragma once
#include "graph/op_def.h"

namespace sheaf::ops {

using graph::ComplexCtx;
using graph::Operand;

struct Parts {
  Operand re, im;
};
// c64 from two f32, which broadcast.
Operand complex_of(Operand re, Operand im);
Operand real_part(const Operand& z);
Operand imag_part(const Operand& z);
Parts parts_of(const Operand& z);
// Pairs of f32 in a last axis, and back.
Operand as_pair(const Operand& z);
Operand from_pair(const Operand& x);

// The error of an op that has no meaning for complex numbers, and of a place that wants real ones.
[[noreturn]] void refuse_complex(const ComplexCtx& c);
void check_real(const Operand& x, std::string_view who);

// What is linear, one part after the other; inputs that are not complex are those of both.
std::vector<Operand> complex_by_parts(const ComplexCtx& c);
std::vector<Operand> complex_mul(const ComplexCtx& c);
std::vector<Operand> complex_div(const ComplexCtx& c);
std::vector<Operand> complex_pow(const ComplexCtx& c);
std::vector<Operand> complex_abs(const ComplexCtx& c);
std::vector<Operand> complex_sign(const ComplexCtx& c);
std::vector<Operand> complex_exp(const ComplexCtx& c);
std::vector<Operand> complex_log(const ComplexCtx& c);
std::vector<Operand> complex_log2(const ComplexCtx& c);
std::vector<Operand> complex_log10(const ComplexCtx& c);
std::vector<Operand> complex_sqrt(const ComplexCtx& c);
std::vector<Operand> complex_sin(const ComplexCtx& c);
std::vector<Operand> complex_cos(const ComplexCtx& c);
std::vector<Operand> complex_tan(const ComplexCtx& c);
std::vector<Operand> complex_sinh(const ComplexCtx& c);
std::vector<Operand> complex_cosh(const ComplexCtx& c);
std::vector<Operand> complex_tanh(const ComplexCtx& c);
std::vector<Operand> complex_cast(const ComplexCtx& c);
// A test that holds if it does for both parts, or for one of them.
std::vector<Operand> complex_both(const ComplexCtx& c);
std::vector<Operand> complex_either(const ComplexCtx& c);
std::vector<Operand> complex_product(const ComplexCtx& c);
std::vector<Operand> complex_cumulate(const ComplexCtx& c);
std::vector<Operand> complex_dot(const ComplexCtx& c);
std::vector<Operand> complex_pad(const ComplexCtx& c);
std::vector<Operand> complex_update(const ComplexCtx& c);

}  // namespace sheaf::ops
