// Bessel functions of orders 0 and 1: of the first and second kind, and the modified ones of the second kind
// (special.cpp has those of the first). As there, the formulas use f64, and narrower results are rounded once. Fits
// interpolate at Chebyshev nodes; they state their error relative to the largest value.
#include <numbers>

#include "ops/apply.h"
#include "ops/float_functions.h"
#include "ops/rules.h"
#include "ops/scalar_rules.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kFloats;
using graph::OpKind;
using graph::VjpCtx;
using loop::Op;

template <class B>
using Real = math::Scalar<B, double>;

constexpr double kInf = math::kInf<double>, kNaN = math::kNaN<double>;

// J and Y up to 8, as polynomials in x^2 / 32 - 1: J0, J1 / x, and Y0 and Y1 / x without their logarithm and pole.
constexpr double kJ0[] = {
    0x1.776fc5f84e27ep-5,  0x1.dc5071f1209f4p-1,   -0x1.4c042a76a3d8cp-1, -0x1.9dbdd0f268edfp-1,
    0x1.09d33c8273433p+0,  -0x1.03d2da095b4d3p-1,  0x1.2afc33916fe4ap-3,  -0x1.d27f3cd0c3c58p-6,
    0x1.09f34489dbeb3p-8,  -0x1.d11773b2a6a1ap-12, 0x1.42bc9169282f7p-15, -0x1.6cc526fb6b012p-19,
    0x1.56a634ee66240p-23, -0x1.0ff7eb0b1f8a4p-27, 0x1.73936aa3d0207p-32, -0x1.b5729d242acaep-37};  // 2^-56.2
constexpr double kJ1[] = {
    -0x1.dc5071f1209f4p-5, 0x1.4c042a76a3d9ap-4,   0x1.364e5cb5ceb28p-3,  -0x1.09d33c82734c7p-2,
    0x1.44c7908bb21fap-3,  -0x1.c07a4d5a245f5p-5,  0x1.982f5536aba62p-7,  -0x1.09f3448afe858p-9,
    0x1.059d31145a9edp-12, -0x1.936bb43ff9c57p-16, 0x1.f58f15d1e022fp-20, -0x1.00fdba734560fp-23,
    0x1.b9f2b1af960adp-28, -0x1.43967959b697dp-32, 0x1.9a36afedba862p-37, -0x1.c2dff424052f8p-42};  // 2^-60.2
constexpr double kY0[] = {-0x1.876cb72f1c7ebp-2,  -0x1.a828bfbfdc936p-1, 0x1.a5a81d661f788p+0,   0x1.272bb3b608b4ep-3,
                          -0x1.13da2b14a486ep+0,  0x1.58279811359ffp-1,  -0x1.c06cc647f6a9dp-3,  0x1.7bd6bf2cea1e1p-5,
                          -0x1.cc70601236723p-8,  0x1.a6a8c6c8b12bdp-11, -0x1.31537c5c91ee5p-14, 0x1.651b8fa0e8b06p-18,
                          -0x1.5995ab83d71d2p-22, 0x1.1997d4a6c362ap-26, -0x1.880052e0f4585p-31, 0x1.d9b425efafdd8p-36,
                          -0x1.f1a7711576130p-41};  // 2^-59.9
constexpr double kY1[] = {
    0x1.21d516f81acf6p-4,   -0x1.f26fddceafd0ep-3, 0x1.7edab31507ce5p-6,   0x1.e16d7a1d07b70p-3,
    -0x1.923952d7c4256p-3,  0x1.41bb6917b15d2p-4,  -0x1.4198f92a33313p-6,  0x1.c097bb98fe302p-9,
    -0x1.d1604f9b92055p-12, 0x1.76c164b7f48bbp-15, -0x1.e3516b2bf323fp-19, 0x1.ff34fd2db670dp-23,
    -0x1.c3f04eca64b29p-27, 0x1.532ea3c457655p-31, -0x1.b7b8e4b5d24fcp-36, 0x1.ed24ebd671b40p-41};  // 2^-57.7
// From 8 on, polynomials in 128 / x^2 - 1: with c = x - (2 n + 1) pi / 4 and r = sqrt(2 / (pi x)), J = r (P cos c - Q
// sin c) and Y = r (P sin c + Q cos c). Q is multiplied by x.
constexpr double kP0[] = {0x1.ffb8dd328503dp-1,   -0x1.193600c1de9d9p-11, 0x1.9be001622bea3p-18,
                          -0x1.b8d2d71b30a5ep-23, 0x1.b7eef4c8b5f66p-27,  -0x1.4d2ea54bfc4e9p-30,
                          0x1.54fd53450625bp-33,  -0x1.b63f441e64847p-36, 0x1.48ec82a563ed8p-38,
                          -0x1.1de864a95f83ap-40, 0x1.84fff80b613c2p-42,  -0x1.cdb3179595bbdp-44};  // 2^-55.5
constexpr double kQ0[] = {-0x1.fdb5c0b2f3d5bp-4,  0x1.1e9a6138feec1p-11, -0x1.8c8435284c2e2p-17, 0x1.3135a899a7d66p-21,
                          -0x1.858d1b79c15abp-25, 0x1.61a576ba7257dp-28, -0x1.a0835f5e8cc28p-31, 0x1.2b957936e62f7p-33,
                          -0x1.f905c8fb2d9f2p-36, 0x1.e9303de9288dfp-38, -0x1.07b105a41fb8ap-39, 0x1.033dea6365de0p-41,
                          -0x1.27d49ee4c9805p-43, 0x1.cab223df72976p-44, -0x1.6d757f20d1676p-45};  // 2^-56.4
constexpr double kP1[] = {0x1.003b716033732p+0,   0x1.d73b8ea3c10dap-11,  -0x1.0b1541c06f776p-17,
                          0x1.07762654afea9p-22,  -0x1.f9615211200b0p-27, 0x1.75ea62e7b87d0p-30,
                          -0x1.78da4eb4d9a8ep-33, 0x1.df1d5756e9b34p-36,  -0x1.64dfeff29b7bap-38,
                          0x1.3459d80b23acap-40,  -0x1.a045d1e6aa4e8p-42, 0x1.ebf5d803cd896p-44};  // 2^-55.4
constexpr double kQ1[] = {0x1.7f323705062fbp-2,  -0x1.938da0a0a6a1fp-11, 0x1.e8e009ca48cc5p-17, -0x1.64231273efe05p-21,
                          0x1.b9302eecdd8b1p-25, -0x1.8922fa1341065p-28, 0x1.c927792add62bp-31, -0x1.45d1fafbde408p-33,
                          0x1.11f1ec5ba5e4bp-35, -0x1.06a7aef913480p-37, 0x1.f9ccefc5a2172p-40, -0x1.14bb49dd9cee7p-41,
                          0x1.46123a8bbc898p-42, -0x1.e48d4f144b8b2p-44};  // 2^-55.6
// K up to 2, as polynomials in x^2 / 2 - 1: K0 and K1 / x without their logarithm and pole. From 2 on, in 4 / x - 1: K
// times e^x sqrt(x).
constexpr double kK0[] = {-0x1.36e85d283cd69p-2, 0x1.5cab546883284p-2,  0x1.25ffa680678fdp-4,  0x1.4b2ddc22e96bap-8,
                          0x1.7f5efc9e66850p-13, 0x1.1017e4b1b1c33p-18, 0x1.05b538f8f6deep-24, 0x1.6c1aa01600441p-31,
                          0x1.7fb0ac384a073p-38, 0x1.3cee1e6b887dcp-45};  // 2^-60.5
constexpr double kK1[] = {-0x1.d6ada9e20f771p-5,  -0x1.bd171d38294e5p-4,  -0x1.b25400fe2dbe9p-7,
                          -0x1.60920568edbf5p-11, -0x1.409bcde641f30p-16, -0x1.775ca341068b3p-22,
                          -0x1.336e52193f999p-28, -0x1.748e796376e30p-35, -0x1.5bd0a61e02e65p-42,
                          -0x1.01eaef82bf2cep-49};  // 2^-63.2
constexpr double kK0Far[] = {
    0x1.37f5dd35f91a9p+0,   -0x1.fd1328181dbafp-6,  0x1.8d86f6465e5edp-9,  -0x1.f7130688661cdp-12,
    0x1.a19652e39b5bbp-14,  -0x1.9efce5fbeadd1p-16, 0x1.d5e9aa083ed64p-18, -0x1.2617f0227683bp-19,
    0x1.8ec6ec3c4b708p-21,  -0x1.20cf8e63439a6p-22, 0x1.ba2f7825a24eap-24, -0x1.60acb9271f591p-25,
    0x1.24dfdb1060894p-26,  -0x1.13be747c64942p-27, 0x1.05b61430a4724p-28, -0x1.6d404776eb843p-31,
    0x1.a27a620088fb7p-35,  -0x1.53f07c6ccb7fap-30, 0x1.bf2aa6c8f2ba0p-31, 0x1.e2fc3eaf2e88ep-32,
    -0x1.570a651b0e7b4p-32, -0x1.82f947bd75936p-33, 0x1.e092e5c062a6ap-34};  // 2^-55.5
constexpr double kK1Far[] = {
    0x1.5cf785b4a0203p+0,   0x1.a7520dfb3f9bdp-4,  -0x1.6cd23ac7d481fp-8,  0x1.81bb3978f0248p-11,
    -0x1.24bdedb10e7bbp-13, 0x1.1383aa8f6b553p-15, -0x1.2cb02f7188581p-17, 0x1.6e6b1ec05629ep-19,
    -0x1.e6c91a8165bc8p-21, 0x1.5ae127ad2e7b6p-22, -0x1.060fb9f895f71p-23, 0x1.9da487486f1c2p-25,
    -0x1.5476a041efb61p-26, 0x1.3c9644d69482bp-27, -0x1.29b04b4e21d1fp-28, 0x1.b5f2e67aa6defp-31,
    -0x1.6ea19300fd755p-34, 0x1.764517bc7142ap-30, -0x1.e9c15a431d7dap-31, -0x1.0679dd43eacf0p-31,
    0x1.746164d6387e7p-32,  0x1.a7d5e4c65543cp-33, -0x1.0661525866f5ap-33};  // 2^-55.6
// I0 and I1 / x for x up to 2, as power series in x^2 / 4.
constexpr double kI0[] = {1.0,
                          1.0,
                          1.0 / 4,
                          1.0 / 36,
                          1.0 / 576,
                          1.0 / 14400,
                          1.0 / 518400,
                          1.0 / 25401600,
                          1.0 / 1625702400,
                          1.0 / 131681894400,
                          1.0 / 13168189440000,
                          1.0 / 1593350922240000};
constexpr double kI1[] = {
    1.0 / 2,       1.0 / 4,         1.0 / 24,          1.0 / 288,           1.0 / 5760,           1.0 / 172800,
    1.0 / 7257600, 1.0 / 406425600, 1.0 / 29262643200, 1.0 / 2633637888000, 1.0 / 289700167680000};

constexpr double kBorder = 8, kModifiedBorder = 2, kTwoOverPi = 2 / std::numbers::pi;

template <int kOrder, class B>
Real<B> near_j(Real<B> y, Real<B> u) {
  return kOrder == 0 ? horner(u, kJ0) : horner(u, kJ1) * y;
}

// Both kinds from 8 on.
template <int kOrder, bool kSecond, class B>
Real<B> far(Real<B> y) {
  auto v = 128.0 / (y * y) - 1.0;
  auto p = kOrder == 0 ? horner(v, kP0) : horner(v, kP1);
  auto q = (kOrder == 0 ? horner(v, kQ0) : horner(v, kQ1)) / y;
  auto sine = call<Op::Sin>(y), cosine = call<Op::Cos>(y);
  // sqrt(2) times the cosine and the sine of c.
  auto cos_c = kOrder == 0 ? cosine + sine : sine - cosine;
  auto sin_c = kOrder == 0 ? sine - cosine : -(sine + cosine);
  auto root = sqrt(1.0 / (y * std::numbers::pi));
  auto result = kSecond ? p * sin_c + q * cos_c : p * cos_c - q * sin_c;
  return select(y == kInf, 0.0, root * result);
}

template <int kOrder>
struct BesselJ {
  template <class B>
  static Real<B> of(Real<B> x) {
    auto y = abs(x);
    auto result = select(y < kBorder, near_j<kOrder>(y, fma(y * y, 1.0 / 32, -1.0)), far<kOrder, false>(y));
    return kOrder == 0 ? result : select(x < 0.0, -result, result);
  }
};

template <int kOrder>
struct BesselY {
  template <class B>
  static Real<B> of(Real<B> x) {
    auto u = fma(x * x, 1.0 / 32, -1.0), j = near_j<kOrder>(x, u), logarithm = call<Op::Log>(x) * kTwoOverPi;
    auto small =
        kOrder == 0 ? fma(logarithm, j, horner(u, kY0)) : fma(logarithm, j, fma(horner(u, kY1), x, -kTwoOverPi / x));
    auto result = select(x < kBorder, small, far<kOrder, true>(x));
    result = select(x == 0.0, -kInf, result);
    return select(x < 0.0, kNaN, result);
  }
};

template <int kOrder>
struct BesselK {
  template <class B>
  static Real<B> of(Real<B> x) {
    auto square = x * x, u = fma(square, 0.5, -1.0), quarter = square * 0.25, logarithm = call<Op::Log>(x * 0.5);
    auto small = kOrder == 0 ? horner(u, kK0) - logarithm * horner(quarter, kI0)
                             : fma(fma(logarithm, horner(quarter, kI1), horner(u, kK1)), x, 1.0 / x);
    auto v = 4.0 / x - 1.0;
    auto large = (kOrder == 0 ? horner(v, kK0Far) : horner(v, kK1Far)) / sqrt(x) * call<Op::Exp>(-x);
    auto result = select(x < kModifiedBorder, small, select(x == kInf, 0.0, large));
    result = select(x == 0.0, kInf, result);
    return select(x < 0.0, kNaN, result);
  }
};

// y / x for a function that is `at_zero` times x near 0.
Operand over_x(const Operand& y, const Operand& x, double at_zero) {
  Operand is_zero = equal(x, like(x, 0));
  return where(is_zero, like(x, at_zero), y / where(is_zero, like(x, 1), x));
}

const OpDef kOps[] = {
    {.name = "bessel_j0",
     .kind = OpKind::Elementwise,
     .signature = "(bessel-j0 x)",
     .doc = "Bessel function of the first kind, order 0.",
     .examples = {{"(bessel-j0 1)", "0.7651977"}},
     .of_numbers = {.f64 = formula_f64<BesselJ<0>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, -c.dy() * apply1("bessel_j1", c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<BesselJ<0>>>,
     .domain = {0.5, 12},
     .cases = {.inputs = 1}},
    {.name = "bessel_j1",
     .kind = OpKind::Elementwise,
     .signature = "(bessel-j1 x)",
     .doc = "Bessel function of the first kind, order 1.",
     .examples = {{"(bessel-j1 1)", "0.44005057"}},
     .of_numbers = {.f64 = formula_f64<BesselJ<1>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable(
         [](VjpCtx& c) { c.grad(0, c.dy() * (apply1("bessel_j0", c.x(0)) - over_x(c.y(), c.x(0), 0.5))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<BesselJ<1>>>,
     .domain = {0.5, 12},
     .cases = {.inputs = 1}},
    {.name = "bessel_y0",
     .kind = OpKind::Elementwise,
     .signature = "(bessel-y0 x)",
     .doc = "Bessel function of the second kind, order 0. Of positive numbers; NaN below 0.",
     .examples = {{"(bessel-y0 1)", "0.08825696"}},
     .of_numbers = {.f64 = formula_f64<BesselY<0>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, -c.dy() * apply1("bessel_y1", c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<BesselY<0>>>,
     .domain = {0.5, 12},
     .cases = {.inputs = 1}},
    {.name = "bessel_y1",
     .kind = OpKind::Elementwise,
     .signature = "(bessel-y1 x)",
     .doc = "Bessel function of the second kind, order 1. Of positive numbers; NaN below 0.",
     .examples = {{"(bessel-y1 1)", "-0.7812128"}},
     .of_numbers = {.f64 = formula_f64<BesselY<1>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, c.dy() * (apply1("bessel_y0", c.x(0)) - c.y() / c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<BesselY<1>>>,
     .domain = {0.5, 12},
     .cases = {.inputs = 1}},
    {.name = "bessel_k0",
     .kind = OpKind::Elementwise,
     .signature = "(bessel-k0 x)",
     .doc = "Modified Bessel function of the second kind, order 0. Of positive numbers; NaN below 0.",
     .examples = {{"(bessel-k0 1)", "0.42102444"}},
     .of_numbers = {.f64 = formula_f64<BesselK<0>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, -c.dy() * apply1("bessel_k1", c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<BesselK<0>>>,
     .domain = {0.5, 4},
     .cases = {.inputs = 1}},
    {.name = "bessel_k1",
     .kind = OpKind::Elementwise,
     .signature = "(bessel-k1 x)",
     .doc = "Modified Bessel function of the second kind, order 1. Of positive numbers; NaN below 0.",
     .examples = {{"(bessel-k1 1)", "0.60190725"}},
     .of_numbers = {.f64 = formula_f64<BesselK<1>>},
     .dtypes = kFloats,
     .infer = infer_elementwise,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, -c.dy() * (apply1("bessel_k0", c.x(0)) + c.y() / c.x(0))); }),
     .batch = batch_elementwise,
     .scalar = scalar_formula<InDouble<BesselK<1>>>,
     .domain = {0.5, 4},
     .cases = {.inputs = 1}},
};

}  // namespace

std::span<const OpDef> bessel_ops() { return kOps; }

}  // namespace sheaf::ops
