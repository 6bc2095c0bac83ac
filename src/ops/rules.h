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

// Elementwise: broadcast sizes, the first input's dtype; or Bool.
std::vector<TensorType> infer_elementwise(const InferCtx& c);
std::vector<TensorType> infer_predicate(const InferCtx& c);

std::vector<Operand> batch_elementwise(BatchCtx& c);
// The first axis of all inputs and outputs is a batch already: the new axis becomes part of it.
std::vector<Operand> batch_first_axis(BatchCtx& c);
// The op on inputs [batch, inner, …] (or of rank 0) as if they were [batch * inner, …].
std::vector<Operand> apply_merged(BatchCtx& c, Size inner);

// The outputs are of the first input's type.
std::vector<TensorType> infer_same(const InferCtx& c);

// A list attribute whose entries are known: axes, a permutation.
std::vector<int> int_list(const Attrs& attrs, std::string_view key);

// Gives the inputs that are not batched a stretched batch axis, so that all have one.
void stretch_to_batch(BatchCtx& c);

// A non-negative axis; throws `axis 3 out of bounds for 2D tensor`.
int check_axis(int64_t axis, int rank);

}  // namespace sheaf::ops
