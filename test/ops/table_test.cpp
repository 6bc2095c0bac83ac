// Every entry of the table states its decisions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "compiler/eager.h"
#include "op_cases.h"

namespace sheaf::ops {
namespace {

TEST(Table, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const OpDef* d : all_ops()) {
    EXPECT_TRUE(names.insert(d->name).second) << d->name;
    EXPECT_EQ(&op(d->name), d);
  }
  EXPECT_GT(names.size(), 50u);
}

TEST(Table, EveryEntryDecides) {
  for (const OpDef* d : all_ops()) {
    SCOPED_TRACE(d->name);
    EXPECT_GE(d->doc.size(), 5u);
    EXPECT_TRUE(d->vjp.rule || !d->vjp.reason.empty()) << "no gradient decision";
    EXPECT_FALSE(d->vjp.rule && d->vjp.zero);
    EXPECT_TRUE(d->batch.rule || !d->batch.reason.empty()) << "no batching decision";
    bool nested = d->kind == OpKind::Control || d->kind == OpKind::Host;
    bool made_by_trace =
        d->role == graph::Role::Input || d->role == graph::Role::Sizes || d->name == "custom" || nested;
    EXPECT_EQ(d->kind == OpKind::Control, d->unroll != nullptr);
    EXPECT_EQ(nested, d->nested != graph::Nested::None) << "no kernel for its node";
    if (made_by_trace) continue;
    EXPECT_TRUE(d->infer) << "no shape rule";
    EXPECT_TRUE(d->dtypes.bits || d->name == "iota") << "no dtype decision";
    EXPECT_TRUE(d->scalar || d->lower || d->view) << "nothing computes it";
    EXPECT_EQ(d->kind == OpKind::Elementwise || d->window, d->scalar != nullptr);
    EXPECT_LT(d->domain.lo, d->domain.hi);
    for (DType t : dtypes_of(*d)) {
      EXPECT_FALSE(cases_of(*d, t, Data::Smooth).empty()) << "no arguments to test it with";
      EXPECT_FALSE(cases_of(*d, t, Data::Wild).empty()) << "no arguments to test it with";
    }
  }
}

// An entry that is a function of the language is documented as one.
TEST(Table, FunctionsAreDocumented) {
  int functions = 0;
  for (const OpDef* d : all_ops()) {
    SCOPED_TRACE(d->name);
    if (d->signature.empty()) {
      EXPECT_TRUE(d->examples[0].code.empty() && d->category.empty()) << "documents a function without a signature";
      continue;
    }
    ++functions;
    EXPECT_TRUE(d->signature.starts_with("(") && d->signature.ends_with(")")) << d->signature;
    EXPECT_TRUE(d->doc.ends_with(".") || d->doc.find('?') != std::string_view::npos) << d->doc;
    EXPECT_TRUE(!d->examples[0].code.empty() || d->signature.starts_with("(%")) << "no example";
    bool arrays = d->arguments == graph::Arguments::Arrays;
    EXPECT_EQ(d->kind == OpKind::Reduce, d->arguments >= graph::Arguments::Total && !arrays);
    EXPECT_NE(arrays, d->kind == OpKind::Reduce || d->kind == OpKind::Elementwise);
    bool folds = d->arguments == graph::Arguments::Promoted;
    EXPECT_TRUE(!folds || (d->of_numbers.f32_pair && d->of_numbers.i64_pair)) << "no value for plain numbers";
  }
  EXPECT_GT(functions, 20);
}

// What the language computes of plain numbers has the bits of the kernel.
TEST(Table, PlainNumbersAgreeWithKernels) {
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (const OpDef* d : all_ops()) {
    const graph::OfNumbers& of = d->of_numbers;
    DType dtype = of.f64 ? DType::F64 : DType::F32;
    if (!of.f64 && !of.f32 && !of.f32_pair) continue;
    std::vector<Tensor> in{wild_tensor(rng, dtype, {509}), wild_tensor(rng, dtype, {509})};
    if (!of.f32_pair) in.pop_back();
    Tensor y = compiler::run_op(*d, in, {}, d->infer({types_of(in), {}}))[0];
    for (int64_t i = 0; i < 509; ++i) {
      double a = element_as_double(in[0], i), expected = element_as_double(y, i);
      double actual = of.f64   ? of.f64(a)
                      : of.f32 ? of.f32(static_cast<float>(a))
                               : of.f32_pair(static_cast<float>(a), static_cast<float>(element_as_double(in[1], i)));
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(actual)
                                       : std::bit_cast<int64_t>(expected) == std::bit_cast<int64_t>(actual))
          << d->name << " of " << a << ": " << expected << " and " << actual;
    }
  }
}

// c64 is moved, computed with by a rule, or refused.
TEST(Table, RulesOfComplexNumbersAreForRealOps) {
  for (const OpDef* d : all_ops()) {
    const bool in_part = d->name == "pad" || d->name == "scatter" || d->name == "put_along";  // with some attributes
    EXPECT_FALSE(d->complex && d->dtypes.has(DType::C64) && !in_part) << d->name;
  }
}

// The gradient of a float must flow or stop by decision, and only through ops that take floats.
TEST(Table, GradientsAreForFloats) {
  for (const OpDef* d : all_ops()) {
    bool floats = d->dtypes.has(DType::F32) || d->dtypes.has(DType::BF16) || d->dtypes.has(DType::C64);
    EXPECT_TRUE(!d->vjp.rule || floats) << d->name;
  }
}

}  // namespace
}  // namespace sheaf::ops
