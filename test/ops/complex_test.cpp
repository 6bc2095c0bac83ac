// Ops of complex numbers. Their values are those of JAX in test/lang; here every op of the table takes c64 in every
// shape and storage as it takes it element by element, or says that it does not.
#include "ops/complex.h"

#include <gtest/gtest.h>

#include "graph/engine.h"
#include "op_cases.h"
#include "ops/apply.h"
#include "trace/traced.h"

namespace sheaf::ops {
namespace {

std::vector<const OpDef*> ops_with_rule(OpKind kind) {
  std::vector<const OpDef*> out;
  for (const OpDef* d : all_ops())
    if (d->complex && d->kind == kind && !d->converts) out.push_back(d);
  return out;
}

Tensor element_of(const Tensor& t, int64_t flat, const Dims& whole) {
  Tensor all = broadcast_to(t, to_sizes(whole)).value();
  return select_axis0(reshaped(all, {all.num_elems()}), flat);
}

class ComplexOps : public ::testing::TestWithParam<const OpDef*> {
 protected:
  static void SetUpTestSuite() { trace::install(); }
};

TEST_P(ComplexOps, TakeEveryShapeAndStorage) {
  const OpDef& op = *GetParam();
  Rng rng(test_seed());
  for (const OpCase& c : cases_of(op, DType::C64, Data::Wild))
    for (Storage how : kStorages) {
      std::vector<Tensor> in = c.make(rng);
      if (in[0].num_elems() > 100) continue;
      SCOPED_TRACE(c.label + " " + name_of(how) + " SHEAF_SEED=" + std::to_string(rng.seed));
      std::vector<Operand> stored;
      for (const Tensor& t : in)
        stored.push_back(stored_as(t, how));
      for (size_t i = 0; i < in.size(); ++i)
        in[i] = copy_of(stored[i].value());
      Tensor y = contiguous(graph::apply(op, stored, c.attrs).value());
      for (int64_t k = 0; k < y.num_elems(); ++k) {
        std::vector<Operand> one;
        for (const Tensor& t : in)
          one.push_back(element_of(t, k, y.sizes));
        Tensor expected = graph::apply(op, one, c.attrs).value();
        ASSERT_TRUE(same_bits(expected, select_axis0(reshaped(y, {y.num_elems()}), k))) << "element " << k;
      }
    }
}
INSTANTIATE_TEST_SUITE_P(Ops, ComplexOps, ::testing::ValuesIn(ops_with_rule(OpKind::Elementwise)),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Complex, OtherOpsRefuse) {
  trace::install();
  int refused = 0;
  Rng rng(test_seed());
  for (const OpDef* d : all_ops()) {
    if (d->complex || d->dtypes.has(DType::C64) || !d->infer || !d->dtypes.bits) continue;
    for (const OpCase& c : cases_of(*d, DType::F32, Data::Smooth)) {
      std::vector<Operand> in;
      for (const Tensor& t : c.make(rng))
        in.push_back(is_float(t.dtype) ? cast(t, DType::C64) : Operand(t));
      if (std::none_of(in.begin(), in.end(), [](const Operand& o) { return is_complex(o.dtype()); })) continue;
      try {
        graph::apply_all(*d, in, c.attrs);
        ADD_FAILURE() << d->name << " takes complex numbers";
      } catch (const UserError& e) {
        EXPECT_NE(e.message.find("takes no complex numbers, got c64["), std::string::npos) << e.message;
      }
      ++refused;
      break;
    }
  }
  EXPECT_GT(refused, 40);
}

TEST(Complex, PartsComeBack) {
  trace::install();
  Rng rng(test_seed());
  for (const Dims& sizes : {Dims{}, Dims{0}, Dims{1}, Dims{5, 131}, Dims{3, 0, 2}}) {
    Tensor re = wild_tensor(rng, DType::F32, sizes), im = wild_tensor(rng, DType::F32, sizes);
    Operand z = complex_of(re, im);
    EXPECT_EQ(z.dtype(), DType::C64);
    EXPECT_TRUE(same_bits(re, real_part(z).value()));
    EXPECT_TRUE(same_bits(im, imag_part(z).value()));
    EXPECT_TRUE(same_bits(zeros_tensor(DType::F32, sizes), imag_part(cast(re, DType::C64)).value()));
  }
}

TEST(Complex, CastsAreThoseOfTheTensorLayer) {
  trace::install();
  Rng rng(test_seed());
  for (int d = 0; d < static_cast<int>(DType::C64); ++d) {
    Tensor x = wild_tensor(rng, static_cast<DType>(d), {521});
    EXPECT_TRUE(same_bits(cast_tensor(x, DType::C64), cast(x, DType::C64).value())) << name_of(x.dtype);
  }
  Tensor z = wild_tensor(rng, DType::C64, {7});
  EXPECT_TRUE(same_bits(cast_tensor(z, DType::F32), real_part(z).value()));
  EXPECT_THROW(cast(z, DType::F32), UserError);
}

}  // namespace
}  // namespace sheaf::ops
