// Compiled graphs give the bits of running op by op: every op alone, and random compositions with their gradients, in
// which nodes are shared, fused and placed in common memory.
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include "compiler/eager.h"
#include "compiler/pipeline.h"
#include "ops/op_cases.h"
#include "ops/random_program.h"
#include "trace/traced.h"
#include "value_graph.h"

namespace sheaf::compiler {
namespace {

using namespace ops;

class CompiledOps : public ::testing::TestWithParam<const OpDef*> {
 protected:
  void SetUp() override {
    trace::install();
    g_verify = true;
  }
};

TEST_P(CompiledOps, GiveTheBitsOfRunningAtOnce) {
  trace::install();
  const OpDef& op = *GetParam();
  Rng rng(test_seed());
  for (DType dtype : dtypes_of(op))
    for (const OpCase& c : cases_of(op, dtype, Data::Wild)) {
      std::vector<Tensor> in = c.make(rng);
      SCOPED_TRACE(c.label + " " + std::string(sheaf::name_of(dtype)) + " SHEAF_SEED=" + std::to_string(rng.seed));
      std::vector<Tensor> expected;
      if (dtype == DType::C64) {
        // Complex numbers have no kernels of their own: applying the op splits them, unless its rule refuses the case.
        try {
          expected = values_of(graph::apply_all(op, {in.begin(), in.end()}, c.attrs));
        } catch (const UserError&) {
          continue;
        }
      } else {
        expected = run_op(op, in, c.attrs, op.infer({types_of(in), c.attrs}));
      }
      expect_same(expected,
                  graph_of(in, [&](const std::vector<Operand>& xs) { return graph::apply_all(op, xs, c.attrs); }), in);
      if (HasFailure()) return;
    }
}

std::vector<const OpDef*> ops_of_inputs() {
  std::vector<const OpDef*> out;
  for (const OpDef* d : all_ops())
    if (d->infer && d->kind != graph::OpKind::Structure && d->name != "iota") out.push_back(d);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Ops, CompiledOps, ::testing::ValuesIn(ops_of_inputs()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(CompiledPrograms, GiveTheBitsOfRunningAtOnce) {
  trace::install();
  for (int trial = 0; trial < 300; ++trial) {
    uint64_t seed = test_seed() + trial;
    Rng rng(seed);
    DType dtype = trial % 3 == 0 ? DType::F64 : trial % 3 == 1 ? DType::F32 : DType::BF16;
    std::vector<Tensor> in{uniform_tensor(rng, dtype, kProgramSizes), uniform_tensor(rng, dtype, kProgramSizes)};
    RandomProgram program(seed, 3 + trial % 25, false);
    SCOPED_TRACE("SHEAF_SEED=" + std::to_string(seed));
    expect_same(values_of(program({in[0], in[1]})), graph_of(in, program), in);
    if (HasFailure()) return;
  }
}

// A step of training in one graph: values and gradients.
TEST(CompiledPrograms, GiveTheGradientsOfTheTape) {
  trace::install();
  for (int trial = 0; trial < 100; ++trial) {
    uint64_t seed = test_seed() + trial;
    Rng rng(seed);
    DType dtype = trial % 2 == 0 ? DType::F64 : DType::F32;
    std::vector<Tensor> in{uniform_tensor(rng, dtype, kProgramSizes), uniform_tensor(rng, dtype, kProgramSizes)};
    RandomProgram program(seed, 3 + trial % 15, false);
    auto trained = [&](const std::vector<Operand>& xs) { return with_gradients(program, xs); };
    SCOPED_TRACE("SHEAF_SEED=" + std::to_string(seed));
    expect_same(values_of(trained({in[0], in[1]})), graph_of(in, trained), in);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::compiler
