// Reductions over one or more axes (attributes `axes`, `keepdims`). The kernel sees the input as [outer, reduced,
// inner].
#include "ops/reduce.h"

#include <algorithm>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::Arguments;
using graph::differentiable;
using graph::kAnyReal;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;
using graph::zero_derivative;
using loop::Combine;

std::vector<int> axes_of(const Attrs& a) { return int_list(a, "axes"); }

Sizes reduced_sizes(const Sizes& in, const std::vector<int>& axes, bool keepdims) {
  Sizes out;
  for (int i = 0; i < static_cast<int>(in.size()); ++i) {
    bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!gone)
      out.push_back(in[i]);
    else if (keepdims)
      out.push_back(Size(1));
  }
  return out;
}

std::vector<TensorType> infer_reduce(const InferCtx& c) {
  return {{c.inputs[0].dtype, reduced_sizes(c.inputs[0].sizes, axes_of(c.attrs), c.attrs.flag("keepdims"))}};
}

// max and min of nothing have no value.
std::vector<TensorType> infer_extremum(const InferCtx& c) {
  for (int a : axes_of(c.attrs))
    if (c.inputs[0].sizes[a] == Size(0)) throw runtime_error("cannot take the extremum of an empty axis");
  return infer_reduce(c);
}

std::vector<TensorType> infer_position(const InferCtx& c) {
  if (axes_of(c.attrs).size() != 1) throw runtime_error("a position is along one axis at a time");
  auto t = infer_extremum(c);
  t[0].dtype = DType::I32;
  return t;
}

template <Combine kCombine>
void lower_reduce(LowerCtx& c) {
  auto& b = c.b;
  const auto& x = c.in[0];
  bool as_int = x.dtype == DType::Bool;  // bools reduce as 0 and 1
  auto reduce_row = [&](uint32_t o, uint32_t i) {
    uint32_t k = b.begin_reduce(x.sizes[1], kCombine);
    uint32_t v = c.load(x, {o, k, i});
    uint32_t r = b.end_reduce(as_int ? b.convert(v, DType::I32) : v);
    c.store(c.out[0], {o, i}, b.convert(r, compute_type(c.out[0].dtype)));
  };
  // `inner1`: the inner axis has size 1, so the reduced axis is the one to vectorise.
  uint32_t o = b.begin_loop(x.sizes[0], loop::Mark::Parallel);
  if (c.attrs.flag("inner1")) {
    reduce_row(o, b.i64(0));
  } else {
    uint32_t i = b.begin_loop(x.sizes[2], loop::Mark::Vector);
    reduce_row(o, i);
    b.end();
  }
  b.end();
}

// An adjoint of the reduced shape, stretched back over the input.
Operand spread(VjpCtx& c, Operand g) {
  Sizes keep = reduced_sizes(c.x(0).sizes(), axes_of(c.attrs()), true);
  return broadcast_to(reshape(std::move(g), keep), c.x(0).sizes());
}

void vjp_extremum(VjpCtx& c) {
  Operand hit = equal(c.x(0), spread(c, c.y()));
  c.grad(0, where(hit, spread(c, c.dy()), like(c.dy(), 0)));
}

// The product of all other elements, also when some are zero: exclusive running products from both ends.
void vjp_product(VjpCtx& c) {
  Operand x = c.x(0);
  int rank = x.rank();
  std::vector<int> axes = axes_of(c.attrs()), perm;
  for (int i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) perm.push_back(i);
  int kept = static_cast<int>(perm.size());
  perm.insert(perm.end(), axes.begin(), axes.end());
  Operand moved = transpose(x, perm);
  Size outer = 1, n = 1;
  for (int i = 0; i < rank; ++i)
    (i < kept ? outer : n) = (i < kept ? outer : n) * moved.size(i);
  Operand rows = reshape(moved, {outer, n});
  Operand ones = full({x.dtype(), {outer, Size(1)}}, 1);
  auto exclusive = [&](Operand r) { return slice_axis(concat({ones, cumulate(r, 1, 1)}, 1), 1, 0, n); };
  Operand others = exclusive(rows) * flip(exclusive(flip(rows, 1)), 1);
  std::vector<int> back(rank);
  for (int i = 0; i < rank; ++i)
    back[perm[i]] = i;
  c.grad(0, spread(c, c.dy()) * transpose(reshape(others, moved.sizes()), back));
}

std::vector<Operand> batch_reduce(BatchCtx& c) {
  Sizes axes;
  for (int a : axes_of(c.attrs))
    axes.push_back(Size(a + 1));
  return graph::apply_all(c.op, {c.inputs[0]}, {{"axes", axes}, {"keepdims", c.attrs.flag("keepdims")}});
}

constexpr graph::Domain kNearOne[][3] = {{{0.7, 1.4}}};

const OpDef kOps[] = {
    {.name = "sum",
     .kind = OpKind::Reduce,
     .signature = "(sum x [:axis k] [:keepdims] [:DTYPE])",
     .doc = "Sum of all elements as a float, or along one or more axes as a tensor.",
     .examples = {{"(sum [1 2 3])", "6.0"}, {"(sum [[1 2] [3 4]] :axis 1)", "[3. 7.]"}},
     .arguments = Arguments::Total,
     .dtypes = kAnyReal,
     .infer = infer_reduce,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, spread(c, c.dy())); }),
     .batch = batch_reduce,
     .complex = complex_by_parts,
     .lower = lower_reduce<Combine::Sum>},  // by fixed blocks: the error grows with log n
    {.name = "product",
     .kind = OpKind::Reduce,
     .signature = "(product x [:axis k] [:DTYPE])",
     .doc = "Product of all elements, or along axes; a float whenever one number is left.",
     .examples = {{"(product [1 2 3 4])", "24.0"}, {"(product [[1 2] [3 4]] :axis 1)", "[ 2. 12.]"}},
     .arguments = Arguments::TotalOrNumber,
     .dtypes = kAnyReal,
     .infer = infer_reduce,
     .vjp = differentiable(vjp_product),
     .batch = batch_reduce,
     .complex = complex_product,
     .lower = lower_reduce<Combine::Prod>,
     .cases = {.zeros = true, .smooth = kNearOne}},
    {.name = "max",
     .kind = OpKind::Reduce,
     .doc = "Largest element along axes; NaN wins. Every tied position gets the gradient.",
     .dtypes = kAnyReal,
     .infer = infer_extremum,
     .vjp = differentiable(vjp_extremum),
     .batch = batch_reduce,
     .lower = lower_reduce<Combine::Max>,
     .cases = {.apart = true}},
    {.name = "min",
     .kind = OpKind::Reduce,
     .doc = "Smallest element along axes; NaN wins. Every tied position gets the gradient.",
     .dtypes = kAnyReal,
     .infer = infer_extremum,
     .vjp = differentiable(vjp_extremum),
     .batch = batch_reduce,
     .lower = lower_reduce<Combine::Min>,
     .cases = {.apart = true}},
    {.name = "argmax",
     .kind = OpKind::Reduce,
     .signature = "(argmax x [:axis k])",
     .doc = "Position of the largest element (the first of ties) in the flattened tensor as an int, or along an axis "
            "as an i32 tensor.",
     .examples = {{"(argmax [3 9 4])", "1"}, {"(argmax [[1 8] [3 4]] :axis 0)", "[1 0]"}},
     .arguments = Arguments::Position,
     .dtypes = kAnyReal,
     .infer = infer_position,
     .vjp = zero_derivative("a position"),
     .batch = batch_reduce,
     .lower = lower_reduce<Combine::ArgMax>,
     .cases = {.apart = true}},
    {.name = "argmin",
     .kind = OpKind::Reduce,
     .signature = "(argmin x [:axis k])",
     .doc = "Position of the smallest element (the first of ties), as argmax.",
     .examples = {{"(argmin [3 1 4])", "1"}},
     .arguments = Arguments::Position,
     .dtypes = kAnyReal,
     .infer = infer_position,
     .vjp = zero_derivative("a position"),
     .batch = batch_reduce,
     .lower = lower_reduce<Combine::ArgMin>,
     .cases = {.apart = true}},
};

}  // namespace

std::span<const OpDef> reduce_ops() { return kOps; }

loop::Combine combine_of(const OpDef& op) {
  // In the order of the entries above.
  constexpr Combine kCombines[] = {Combine::Sum, Combine::Prod,   Combine::Max,
                                   Combine::Min, Combine::ArgMax, Combine::ArgMin};
  static_assert(std::size(kCombines) == std::size(kOps));
  INVARIANT(&op >= kOps && &op < std::end(kOps), op.name << " is not a reduction");
  return kCombines[&op - kOps];
}

}  // namespace sheaf::ops
