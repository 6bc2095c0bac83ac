// The three ops that touch what is inside of a complex number. A kernel sees 64 bits: the real part is the lower half.
#include "ops/complex.h"

#include <fmt/format.h>

#include <algorithm>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "support/error.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::only;
using graph::OpKind;
using graph::ScalarCtx;
using graph::VjpCtx;

constexpr int kHalf = 32;  // bits

std::vector<TensorType> infer_of(const InferCtx& c, DType result) {
  std::vector<TensorType> out = infer_elementwise(c);
  out[0].dtype = result;
  return out;
}

const OpDef kOps[] = {
    {.name = "complex",
     .kind = OpKind::Elementwise,
     .doc = "Complex numbers from their real and imaginary parts.",
     .dtypes = only(DType::F32),
     .infer = [](const InferCtx& c) { return infer_of(c, DType::C64); },
     .vjp = differentiable([](VjpCtx& c) {
       if (c.needs(0)) c.grad(0, real_part(c.dy()));
       if (c.needs(1)) c.grad(1, -imag_part(c.dy()));
     }),
     .batch = batch_elementwise,
     .scalar =
         [](ScalarCtx& c) {
           auto bits = [&](uint32_t x) { return c.b.convert(c.b.bitcast(x, DType::U32), DType::I64); };
           return c.b.or_(c.b.shl(bits(c.x[1]), c.b.i64(kHalf)), bits(c.x[0]));
         },
     .cheap = true,
     .cases = {.inputs = 2}},
    {.name = "real",
     .kind = OpKind::Elementwise,
     .doc = "Real parts.",
     .dtypes = only(DType::C64),
     .infer = [](const InferCtx& c) { return infer_of(c, DType::F32); },
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, complex_of(c.dy(), like(c.dy(), 0))); }),
     .batch = batch_elementwise,
     .scalar = [](ScalarCtx& c) { return c.b.bitcast(c.b.convert(c.x[0], DType::I32), DType::F32); },
     .cheap = true},
    {.name = "imag",
     .kind = OpKind::Elementwise,
     .doc = "Imaginary parts.",
     .dtypes = only(DType::C64),
     .infer = [](const InferCtx& c) { return infer_of(c, DType::F32); },
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, complex_of(like(c.dy(), 0), -c.dy())); }),
     .batch = batch_elementwise,
     .scalar =
         [](ScalarCtx& c) {
           uint32_t upper = c.b.shr(c.x[0], c.b.i64(kHalf));
           return c.b.bitcast(c.b.convert(upper, DType::I32), DType::F32);
         },
     .cheap = true},
};

Operand part(const Operand& z, int which) {
  const OpDef& joined = kOps[0];
  if (!z.is_node() || z.node()->op != &joined) return graph::apply(kOps[1 + which], {z});
  return broadcast_to(z.node()->inputs[static_cast<size_t>(which)], z.sizes());
}

// As a function of the language.
std::string_view called(const OpDef& op) {
  static constexpr std::pair<std::string_view, std::string_view> kSymbols[] = {
      {"lt", "<"}, {"le", "<="}, {"floor_div", "//"}, {"search_sorted", "searchsorted"}, {"quantized_dot", "@"}};
  for (const auto& [name, symbol] : kSymbols)
    if (op.name == name) return symbol;
  std::string_view s = op.signature;
  return s.empty() ? op.name : s.substr(1, s.find_first_of(" )") - 1);
}

UserError refusal(std::string_view who, const Operand& x) {
  return runtime_error(fmt::format("{}: takes no complex numbers, got {}", who, graph::type_text(x.type())))
      .hint("(real x), (imag x), (abs x) and (angle x) are real");
}

}  // namespace

Operand complex_of(Operand re, Operand im) { return graph::apply(kOps[0], {std::move(re), std::move(im)}); }
Operand real_part(const Operand& z) { return part(z, 0); }
Operand imag_part(const Operand& z) { return part(z, 1); }
Parts parts_of(const Operand& z) { return {real_part(z), imag_part(z)}; }

void refuse_complex(const ComplexCtx& c) {
  const auto x = std::find_if(c.inputs.begin(), c.inputs.end(), [](const Operand& o) { return is_complex(o.dtype()); });
  INVARIANT(x != c.inputs.end(), c.op.name << " refuses complex numbers and has none");
  throw refusal(called(c.op), *x);
}

void check_real(const Operand& x, std::string_view who) {
  if (is_complex(x.dtype())) throw refusal(who, x);
}

std::span<const OpDef> complex_ops() { return kOps; }

}  // namespace sheaf::ops
