// The entries' rules about values of their outputs (sizes, ranges, overflow), against the values.
#include <gtest/gtest.h>

#include "compiler/eager.h"
#include "op_cases.h"
#include "ops/apply.h"
#include "trace/traced.h"

namespace sheaf::ops {
namespace {

using graph::IntRange;
using graph::Operand;
using graph::SizeNumbers;

Tensor run(const OpDef& op, const std::vector<Tensor>& in, const Attrs& attrs) {
  return compiler::run_op(op, in, attrs, op.infer({types_of(in), attrs}))[0];
}

// Whole numbers of a scalar or vector, as sizes.
SizeNumbers numbers(const Tensor& t) {
  SizeNumbers n{{}, t.rank() == 0};
  for (int64_t i = 0; i < t.num_elems(); ++i)
    n.values.push_back(Size(element_as_int(t, i)));
  return n;
}

class SizeRules : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(SizeRules, GiveWhatTheOpGives) {
  const OpDef& op = *GetParam();
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  int compared = 0;
  for (int trial = 0; trial < 60; ++trial)
    for (const OpCase& c : cases_of(op, DType::F64, Data::Smooth)) {
      if (op.converts && c.attrs.get<DType>("dtype") != DType::F64) continue;
      std::vector<Tensor> in = c.make(rng);
      std::vector<SizeNumbers> sizes;
      bool short_vectors = true;
      for (Tensor& t : in) {
        short_vectors &= t.rank() <= 1;
        for_each_element(
            t, [&](int64_t, std::byte* p) { store_double(t.dtype, p, static_cast<double>(rng.below(20) - 5)); });
        if (short_vectors) sizes.push_back(numbers(t));
      }
      Tensor y = short_vectors ? run(op, in, c.attrs) : Tensor();
      if (!short_vectors || y.rank() > 1 || y.num_elems() == 0) continue;
      auto count = static_cast<size_t>(y.num_elems());
      std::optional<Sizes> made = op.sizes ? op.sizes({sizes, c.attrs, count}) : std::optional<Sizes>();
      for (size_t i = 0; i < count && (made || op.size_test); ++i, ++compared) {
        int64_t expected = element_as_int(y, static_cast<int64_t>(i));
        if (made)
          ASSERT_EQ((*made)[i].value(), expected) << c.label;
        else
          ASSERT_EQ(op.size_test(sizes[0].at(i), sizes[1].at(i)), expected != 0) << c.label;
      }
    }
  EXPECT_GT(compared, 20);
}

std::vector<const OpDef*> ops_with(bool (*has)(const OpDef&)) {
  std::vector<const OpDef*> out;
  for (const OpDef* d : all_ops())
    if (has(*d)) out.push_back(d);
  return out;
}
std::string name_of(const ::testing::TestParamInfo<const OpDef*>& info) { return std::string(info.param->name); }
INSTANTIATE_TEST_SUITE_P(Ops, SizeRules,
                         ::testing::ValuesIn(ops_with([](const OpDef& d) { return d.sizes || d.size_test; })), name_of);

class RangeRules : public ::testing::TestWithParam<const OpDef*> {};

// An operand that stands for its range.
Operand range_operand(IntRange r) {
  int64_t ends[] = {r.lo, r.hi};
  return tensor_of(DType::I64, {2}, ends);
}
IntRange range_in(const Operand& o) { return {o.value().data<int64_t>()[0], o.value().data<int64_t>()[1]}; }

TEST_P(RangeRules, HoldEveryValue) {
  const OpDef& op = *GetParam();
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  auto any = [&] { return static_cast<int64_t>(rng.bits()) >> rng.below(64); };
  Attrs attrs = op.converts ? Attrs{{"dtype", DType::I64}} : Attrs();
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Operand> ranges;
    std::vector<Tensor> in;
    for (int i = 0; i < graph::num_inputs(op); ++i) {
      int64_t a = any(), b = any();
      IntRange r{std::min(a, b), std::max(a, b)};
      uint64_t width = static_cast<uint64_t>(r.hi) - static_cast<uint64_t>(r.lo);
      uint64_t step = trial % 3 == 0 ? 0 : trial % 3 == 1 ? width : rng.bits() & (width >> 1);
      int64_t x = static_cast<int64_t>(static_cast<uint64_t>(r.lo) + step);
      ranges.push_back(range_operand(r));
      in.push_back(tensor_of(DType::I64, {}, &x));
    }
    if (op.cases.condition) in[0] = cast_tensor(in[0], DType::Bool);
    IntRange range = op.range({ranges, range_in});
    int64_t y = element_as_int(run(op, in, attrs), 0);
    ASSERT_TRUE(range.lo <= y && y <= range.hi) << y << " is not in [" << range.lo << ", " << range.hi << "]";
  }
}
INSTANTIATE_TEST_SUITE_P(Ops, RangeRules, ::testing::ValuesIn(ops_with([](const OpDef& d) {
                           return d.range && d.kind == OpKind::Elementwise;
                         })),
                         name_of);

class WrapRules : public ::testing::TestWithParam<const OpDef*> {
 protected:
  static void SetUpTestSuite() { trace::install(); }
};

TEST_P(WrapRules, FindOverflow) {
  const OpDef& op = *GetParam();
  Rng rng(test_seed());
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
  for (int trial = 0; trial < 2000; ++trial) {
    int64_t a = static_cast<int64_t>(rng.bits()) >> rng.below(64),
            b = static_cast<int64_t>(rng.bits()) >> rng.below(64);
    if (trial % 10 == 0) a = trial % 20 ? INT64_MIN : INT64_MAX;
    if (trial % 7 == 0) b = trial % 14 ? -1 : 1;
    Tensor x = tensor_of(DType::I64, {}, &a), y = tensor_of(DType::I64, {}, &b);
    int64_t ignored;
    bool expected = op.name == "add"   ? __builtin_add_overflow(a, b, &ignored)
                    : op.name == "sub" ? __builtin_sub_overflow(a, b, &ignored)
                                       : __builtin_mul_overflow(a, b, &ignored);
    bool wrapped = element_as_int(op.wrapped(x, y, run(op, {x, y}, {})).value(), 0) != 0;
    ASSERT_EQ(wrapped, expected) << a << " " << b;
  }
}
INSTANTIATE_TEST_SUITE_P(Ops, WrapRules,
                         ::testing::ValuesIn(ops_with([](const OpDef& d) { return d.wrapped != nullptr; })), name_of);

}  // namespace
}  // namespace sheaf::ops
