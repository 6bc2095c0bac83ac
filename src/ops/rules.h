// Rules shared by several entries: shapes, dtypes, batching.
#pragma once
#include "graph/engine.h"
#include "graph/op_def.h"

namespace sheaf::ops {

inline constexpr graph::DTypes kNarrowFloats = graph::only(DType::BF16) | graph::only(DType::F16);  // summed up in f32

using graph::Attrs;
using graph::BatchCtx;
using graph::InferCtx;
using graph::Operand;
using graph::TensorType;
using graph::TestCase;
using graph::TestInput;

// NumPy broadcasting; throws `Cannot broadcast shapes [2, 3] and [4]`.
Sizes broadcast_sizes(const Sizes& a, const Sizes& b);

// Elementwise: broadcast sizes; the first input's dtype, or Bool.
std::vector<TensorType> infer_elementwise(const InferCtx& c);
std::vector<TensorType> infer_predicate(const InferCtx& c);

std::vector<Operand> batch_elementwise(BatchCtx& c);
// For ops whose inputs and outputs have a batch as first axis: merges the new axis into it.
std::vector<Operand> batch_first_axis(BatchCtx& c);
// Applies the op to inputs [batch, inner, …] (or of rank 0) as if they were [batch * inner, …].
std::vector<Operand> apply_merged(BatchCtx& c, Size inner);

// All outputs have the first input's type.
std::vector<TensorType> infer_same(const InferCtx& c);

// A list attribute with constant entries: axes, a permutation.
std::vector<int> int_list(const Attrs& attrs, std::string_view key);

// Broadcasts the inputs without a batch axis along one, so that all have it.
void stretch_to_batch(BatchCtx& c);

// A non-negative axis; throws `axis 3 out of bounds for 2D tensor`.
int check_axis(int64_t axis, int rank);

}  // namespace sheaf::ops
