// Batching rules: a batch gives what its examples give one by one, for every choice of batched inputs.
#include <gtest/gtest.h>

#include "graph/engine.h"
#include "op_cases.h"
#include "trace/traced.h"

namespace sheaf::ops {
namespace {

using graph::Operand;

Tensor stack(const std::vector<Tensor>& parts, DType dtype, const Dims& sizes) {
  Dims all = sizes;
  all.insert(all.begin(), static_cast<int64_t>(parts.size()));
  Tensor out = empty_tensor(dtype, all);
  std::byte* to = out.bytes_mut();
  for (const Tensor& p : parts) {
    Tensor c = contiguous(p);
    to = std::copy(c.bytes(), c.bytes() + c.num_elems() * size_bytes(dtype), to);
  }
  return out;
}

void check(const OpDef& op, const OpCase& c, const std::vector<bool>& batched, int64_t batch, Rng& rng) {
  std::vector<std::vector<Tensor>> examples;
  std::vector<Tensor> shared = c.make(rng);
  for (int64_t e = 0; e < batch; ++e) {
    examples.push_back(c.make(rng));
    for (size_t i = 0; i < shared.size(); ++i)
      if (!batched[i]) examples[e][i] = shared[i];
  }
  std::vector<Operand> inputs;
  for (size_t i = 0; i < shared.size(); ++i) {
    std::vector<Tensor> parts;
    for (auto& e : examples)
      parts.push_back(e[i]);
    inputs.push_back(batched[i] ? stack(parts, shared[i].dtype, shared[i].sizes) : shared[i]);
  }
  graph::BatchCtx ctx{op, c.attrs, inputs, batched, Size(batch)};
  std::vector<Operand> actual = op.batch.rule(ctx);
  std::vector<TensorType> types = op.infer({types_of(shared), c.attrs});
  ASSERT_EQ(actual.size(), types.size());
  for (size_t k = 0; k < types.size(); ++k) {
    std::vector<Tensor> parts;
    for (auto& e : examples)
      parts.push_back(graph::apply_all(op, {e.begin(), e.end()}, c.attrs)[k].value());
    EXPECT_TRUE(same_bits(stack(parts, types[k].dtype, to_dims(types[k].sizes)), actual[k].value())) << "output " << k;
  }
}

class Batching : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Batching, EqualsOneByOne) {
  trace::install();
  const OpDef& op = *GetParam();
  Rng rng(test_seed());
  for (DType dtype : dtypes_of(op)) {
    if (dtype != DType::F32 && dtype != DType::I64 && dtype != DType::U32 && dtype != DType::Bool &&
        dtype != DType::C64)
      continue;                                     // rules do not look at dtypes
    if (is_complex(dtype) && op.complex) continue;  // complex numbers go another way
    for (const OpCase& c : cases_of(op, dtype, Data::Smooth)) {
      size_t n = c.make(rng).size();
      for (int64_t batch : {1, 3})
        for (unsigned choice = 1; choice < (1u << n); ++choice) {
          std::vector<bool> batched(n);
          std::string flags;
          for (size_t i = 0; i < n; ++i)
            batched[i] = choice >> i & 1, flags += batched[i] ? 'b' : '-';
          SCOPED_TRACE(c.label + " " + flags + " batch " + std::to_string(batch) +
                       " SHEAF_SEED=" + std::to_string(rng.seed));
          check(op, c, batched, batch, rng);
          if (HasFailure()) return;
        }
    }
  }
}

std::vector<const OpDef*> batched_ops() {
  std::vector<const OpDef*> out;
  for (const OpDef* d : all_ops())
    if (d->batch.rule && d->infer) out.push_back(d);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Ops, Batching, ::testing::ValuesIn(batched_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace sheaf::ops
