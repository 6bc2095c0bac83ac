// Every entry of the table states its decisions.
#include <gtest/gtest.h>

#include <set>

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
    bool made_by_trace = d->name == "input" || d->name == "sizes" || d->name == "custom" ||
                         d->kind == OpKind::Control || d->kind == OpKind::Host;
    EXPECT_EQ(d->kind == OpKind::Control, d->unroll != nullptr);
    if (made_by_trace) continue;
    EXPECT_TRUE(d->infer) << "no shape rule";
    EXPECT_TRUE(d->dtypes.bits || d->name == "iota") << "no dtype decision";
    EXPECT_TRUE(d->scalar || d->lower || d->view) << "nothing computes it";
    EXPECT_EQ(d->kind == OpKind::Elementwise || d->window, d->scalar != nullptr);
    EXPECT_LT(d->domain_lo, d->domain_hi);
    for (DType t : dtypes_of(*d)) {
      EXPECT_FALSE(cases_of(*d, t, Data::Smooth).empty()) << "test/ops/op_cases.h makes no arguments for it";
      EXPECT_FALSE(cases_of(*d, t, Data::Wild).empty()) << "test/ops/op_cases.h makes no arguments for it";
    }
  }
}

// The gradient of a float must flow or stop by decision, and only through ops that take floats.
TEST(Table, GradientsAreForFloats) {
  for (const OpDef* d : all_ops()) {
    bool floats = d->dtypes.has(DType::F64) || d->dtypes.has(DType::BF16);
    EXPECT_TRUE(!d->vjp.rule || floats) << d->name;
  }
}

}  // namespace
}  // namespace sheaf::ops
