// The ops that touch what is inside of a complex number. A kernel sees 64 bits: the real part is the lower half.
#include "ops/complex.h"

#include <fmt/format.h>

#include <algorithm>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "support/error.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::LowerCtx;
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

uint32_t joined(loop::Builder& b, uint32_t re, uint32_t im) {
  auto bits = [&](uint32_t x) { return b.convert(b.bitcast(x, DType::U32), DType::I64); };
  return b.or_(b.shl(bits(im), b.i64(kHalf)), bits(re));
}
uint32_t lower_half(loop::Builder& b, uint32_t z) { return b.bitcast(b.convert(z, DType::I32), DType::F32); }
uint32_t upper_half(loop::Builder& b, uint32_t z) { return lower_half(b, b.shr(z, b.i64(kHalf))); }

std::vector<TensorType> infer_as_pair(const InferCtx& c) {
  TensorType t{DType::F32, c.inputs[0].sizes};
  t.sizes.push_back(2);
  return {t};
}
std::vector<TensorType> infer_from_pair(const InferCtx& c) {
  TensorType t{DType::C64, c.inputs[0].sizes};
  t.sizes.pop_back();
  return {t};
}

std::vector<uint32_t> with_part(LowerCtx& c, std::span<const uint32_t> index, int64_t part) {
  std::vector<uint32_t> all(index.begin(), index.end());
  all.push_back(c.b.i64(part));
  return all;
}
void lower_as_pair(LowerCtx& c) {
  c.for_each(c.in[0].sizes, [&](std::span<const uint32_t> index) {
    const uint32_t z = c.load(c.in[0], index);
    c.store(c.out[0], with_part(c, index, 0), lower_half(c.b, z));
    c.store(c.out[0], with_part(c, index, 1), upper_half(c.b, z));
  });
}
void lower_from_pair(LowerCtx& c) {
  c.for_each(c.out[0].sizes, [&](std::span<const uint32_t> index) {
    const uint32_t re = c.load(c.in[0], with_part(c, index, 0)), im = c.load(c.in[0], with_part(c, index, 1));
    c.store(c.out[0], index, joined(c.b, re, im));
  });
}

std::vector<Operand> batch_same(BatchCtx& c) { return graph::apply_all(c.op, std::move(c.inputs), c.attrs); }

Operand conjugate(const Operand& z) { return complex_of(real_part(z), -imag_part(z)); }

std::vector<TestCase> pair_cases(bool pairs) {
  std::vector<TestCase> out;
  for (Dims x : {Dims{}, Dims{1}, Dims{5}, Dims{2, 3}, Dims{0}, Dims{3, 0, 2}, Dims{2, 131}, Dims{2, 3, 5, 7}}) {
    if (pairs) x.push_back(2);
    out.push_back({{}, {{x}}});
  }
  return out;
}
std::vector<TestCase> complex_cases(DType) { return pair_cases(false); }
std::vector<TestCase> real_cases(DType) { return pair_cases(true); }

enum Which : uint8_t { Complex, Real, Imag, AsPair, FromPair };  // their places
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
     .scalar = [](ScalarCtx& c) { return joined(c.b, c.x[0], c.x[1]); },
     .cheap = true,
     .cases = {.inputs = 2}},
    {.name = "real",
     .kind = OpKind::Elementwise,
     .doc = "Real parts.",
     .dtypes = only(DType::C64),
     .infer = [](const InferCtx& c) { return infer_of(c, DType::F32); },
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, complex_of(c.dy(), like(c.dy(), 0))); }),
     .batch = batch_elementwise,
     .scalar = [](ScalarCtx& c) { return lower_half(c.b, c.x[0]); },
     .cheap = true},
    {.name = "imag",
     .kind = OpKind::Elementwise,
     .doc = "Imaginary parts.",
     .dtypes = only(DType::C64),
     .infer = [](const InferCtx& c) { return infer_of(c, DType::F32); },
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, complex_of(like(c.dy(), 0), -c.dy())); }),
     .batch = batch_elementwise,
     .scalar = [](ScalarCtx& c) { return upper_half(c.b, c.x[0]); },
     .cheap = true},
    {.name = "as_pair",
     .kind = OpKind::Movement,
     .doc = "Complex numbers as real and imaginary part in a last axis.",
     .dtypes = only(DType::C64),
     .infer = infer_as_pair,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, conjugate(from_pair(c.dy()))); }),
     .batch = batch_same,
     .lower = lower_as_pair,
     .cases = {.list = complex_cases}},
    {.name = "from_pair",
     .kind = OpKind::Movement,
     .doc = "Complex numbers from real and imaginary part in a last axis.",
     .dtypes = only(DType::F32),
     .infer = infer_from_pair,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, as_pair(conjugate(c.dy()))); }),
     .batch = batch_same,
     .lower = lower_from_pair,
     .cases = {.list = real_cases}},
};

Operand part(const Operand& z, Which which) {
  if (!z.is_node() || z.node()->op != &kOps[Complex]) return graph::apply(kOps[which], {z});
  return broadcast_to(z.node()->inputs[which == Real ? 0 : 1], z.sizes());
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

Operand complex_of(Operand re, Operand im) { return graph::apply(kOps[Complex], {std::move(re), std::move(im)}); }
Operand real_part(const Operand& z) { return part(z, Real); }
Operand imag_part(const Operand& z) { return part(z, Imag); }
Operand as_pair(const Operand& z) { return graph::apply(kOps[AsPair], {z}); }
Operand from_pair(const Operand& x) { return graph::apply(kOps[FromPair], {x}); }
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
