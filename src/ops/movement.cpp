// Movement: the same elements at other places. What strides can say is a view; the rest copies.
#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "ops/value_rules.h"
#include "tensor/saturated.h"

namespace sheaf::ops {
namespace {

using graph::Arrangement;
using graph::differentiable;
using graph::kAnyReal;
using graph::kAnyType;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;

std::vector<int> perm_of(const Attrs& a) { return int_list(a, "perm"); }

Sizes prepend(Size first, const Sizes& rest) {
  Sizes s = rest;
  s.insert(s.begin(), first);
  return s;
}

std::vector<TensorType> infer_sizes(const InferCtx& c) { return {{c.inputs[0].dtype, c.attrs.sizes("sizes")}}; }

std::vector<TensorType> infer_transpose(const InferCtx& c) {
  Sizes s;
  for (int p : perm_of(c.attrs))
    s.push_back(c.inputs[0].sizes[p]);
  return {{c.inputs[0].dtype, s}};
}

std::vector<TensorType> infer_pad(const InferCtx& c) {
  Sizes s;
  const Sizes &lo = c.attrs.sizes("lo"), &hi = c.attrs.sizes("hi"), &mid = c.attrs.sizes("interior");
  for (int i = 0; i < c.inputs[0].rank(); ++i) {
    Size n = c.inputs[0].sizes[i];
    s.push_back(lo[i] + hi[i] + n + mid[i] * max(n - Size(1), Size(0)));
  }
  return {{c.inputs[0].dtype, s}};
}

std::vector<TensorType> infer_concat(const InferCtx& c) {
  TensorType t = c.inputs[0];
  int axis = static_cast<int>(c.attrs.integer("axis"));
  for (size_t i = 1; i < c.inputs.size(); ++i)
    t.sizes[axis] = t.sizes[axis] + c.inputs[i].sizes[axis];
  return {t};
}

// A view of a strided tensor under new sizes, when one exists: each run of new axes must cover a run of old axes whose
// strides nest.
std::optional<Tensor> view_reshape(const Tensor& t, const Attrs& a) {
  Dims sizes = to_dims(a.sizes("sizes"));
  if (t.is_contiguous()) {
    Tensor out = t;
    out.strides = contiguous_strides(sizes);
    out.sizes = std::move(sizes);
    return out;
  }
  // The strides of axes of size 1 mean nothing and would hide that their neighbours do not nest.
  Dims old_sizes, old_strides;
  for (int axis = 0; axis < t.rank(); ++axis) {
    if (t.sizes[axis] == 1) continue;
    old_sizes.push_back(t.sizes[axis]);
    old_strides.push_back(t.strides[axis]);
  }
  Dims strides(sizes.size(), 0);
  size_t i = 0, j = 0;
  while (i < old_sizes.size() || j < sizes.size()) {
    int64_t old_run = 1, new_run = 1;
    size_t i0 = i, j0 = j;
    if (i < old_sizes.size()) old_run = old_sizes[i++];
    if (j < sizes.size()) new_run = sizes[j++];
    while (old_run != new_run) {
      if (old_run < new_run) {
        if (i >= old_sizes.size()) return std::nullopt;
        old_run = saturated_mul(old_run, old_sizes[i++]);
      } else {
        if (j >= sizes.size()) return std::nullopt;
        new_run = saturated_mul(new_run, sizes[j++]);
      }
    }
    int64_t stride = i > i0 ? old_strides[i - 1] : 1;
    for (size_t k = i0; k + 1 < i; ++k)
      if (old_strides[k] != old_strides[k + 1] * old_sizes[k + 1]) return std::nullopt;
    for (size_t k = j; k-- > j0;) {
      strides[k] = stride;
      stride *= sizes[k];
    }
  }
  Tensor out = t;
  out.sizes = std::move(sizes);
  out.strides = std::move(strides);
  return out;
}

std::optional<Tensor> view_transpose(const Tensor& t, const Attrs& a) {
  Tensor out = t;
  std::vector<int> p = perm_of(a);
  for (size_t i = 0; i < p.size(); ++i) {
    out.sizes[i] = t.sizes[p[i]];
    out.strides[i] = t.strides[p[i]];
  }
  return out;
}

std::optional<Tensor> view_broadcast(const Tensor& t, const Attrs& a) {
  Tensor out = t;
  out.sizes = to_dims(a.sizes("sizes"));
  out.strides = Dims(out.sizes.size(), 0);
  int shift = out.rank() - t.rank();
  for (int i = 0; i < t.rank(); ++i)
    out.strides[shift + i] = t.sizes[i] == 1 && out.sizes[shift + i] != 1 ? 0 : t.strides[i];
  return out;
}

std::optional<Tensor> view_slice(const Tensor& t, const Attrs& a) {
  Tensor out = t;
  out.sizes = to_dims(a.sizes("sizes"));
  for (int i = 0; i < t.rank(); ++i) {
    if (out.sizes[i] > 0) out.offset += a.sizes("starts")[i].value() * t.strides[i];
    out.strides[i] = t.strides[i] * a.sizes("steps")[i].value();
  }
  return out;
}

// A plain copy in the order of the output; used when reshape has no view.
void lower_copy(LowerCtx& c) {
  // The output is contiguous whatever its sizes, so it is walked with the input's.
  LowerCtx::Array out = c.out[0];
  out.sizes = c.in[0].sizes;
  out.strides.resize(out.sizes.size());
  uint32_t stride = c.b.i64(1);
  for (size_t i = out.sizes.size(); i-- > 0;) {
    out.strides[i] = stride;
    stride = c.b.mul(stride, out.sizes[i]);
  }
  c.for_each(c.in[0].sizes, [&](auto index) { c.store(out, index, c.load(c.in[0], index)); });
}

// Fills the output, then puts the input's elements in their places: both walk memory in order.
void lower_pad(LowerCtx& c) {
  auto& b = c.b;
  uint32_t fill = b.number(compute_type(c.in[0].dtype), c.attrs.get<double>("value"));
  if (c.in[0].rank() == 0) {
    c.store(c.out[0], {}, c.load(c.in[0], {}));
    return;
  }
  c.for_each(c.out[0].sizes, [&](auto index) { c.store(c.out[0], index, fill); });
  c.for_each(c.in[0].sizes, [&](auto index) {
    std::vector<uint32_t> to;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t step = c.attrs.sizes("interior")[i].value() + 1;
      to.push_back(b.add(b.mul(index[i], b.i64(step)), b.i64(c.attrs.sizes("lo")[i].value())));
    }
    c.store(c.out[0], to, c.load(c.in[0], index));
  });
}

void lower_concat(LowerCtx& c) {
  auto& b = c.b;
  size_t axis = static_cast<size_t>(c.attrs.integer("axis"));
  uint32_t base = b.i64(0);
  for (const auto& part : c.in) {
    c.for_each(part.sizes, [&](auto index) {
      std::vector<uint32_t> to(index.begin(), index.end());
      to[axis] = b.add(to[axis], base);
      c.store(c.out[0], to, c.load(part, index));
    });
    base = b.add(base, part.sizes[axis]);
  }
}

uint32_t scalar_slice_add(graph::ScalarCtx& c) {
  return c.type == DType::Bool ? c.b.or_(c.x[0], c.x[1]) : c.b.add(c.x[0], c.x[1]);
}

void lower_slice_add(LowerCtx& c) {
  auto& b = c.b;
  if (!c.in_place) c.for_each(c.in[0].sizes, [&](auto index) { c.store(c.out[0], index, c.load(c.in[0], index)); });
  c.for_each(c.in[1].sizes, [&](auto index) {
    std::vector<uint32_t> to;
    for (size_t i = 0; i < index.size(); ++i)
      to.push_back(
          b.add(b.mul(index[i], b.i64(c.attrs.sizes("steps")[i].value())), b.i64(c.attrs.sizes("starts")[i].value())));
    uint32_t x[] = {b.convert(b.load(c.out[0].buffer, c.offset(c.out[0], to)), compute_type(c.out[0].dtype)),
                    c.load(c.in[1], index)};
    graph::ScalarCtx s{b, x, c.attrs, compute_type(c.out[0].dtype)};
    c.store(c.out[0], to, scalar_slice_add(s));
  });
}

void vjp_slice(VjpCtx& c) {
  Operand g = c.dy();
  Sizes lo, hi, mid, steps;
  for (int i = 0; i < c.x(0).rank(); ++i) {
    int64_t step = c.attrs().sizes("steps")[i].value();
    Size start = c.attrs().sizes("starts")[i], n = c.attrs().sizes("sizes")[i];
    if (step < 0) {
      g = flip(g, i);
      start = start + Size(step) * max(n - Size(1), Size(0));
      step = -step;
    }
    Size covered = n == Size(0) ? Size(0) : (n - Size(1)) * Size(step) + Size(1);
    if (n == Size(0)) start = Size(0);
    lo.push_back(start);
    mid.push_back(Size(step - 1));
    steps.push_back(Size(step));
    hi.push_back(c.x(0).size(i) - start - covered);
  }
  // The parts of one array add up in one array, without a padded one for each.
  if (Operand so_far = c.take_adjoint(0)) return c.grad(0, slice_add(so_far, g, lo, steps));
  c.grad(0, pad(g, lo, hi, mid));
}

void vjp_pad(VjpCtx& c) {
  Sizes steps;
  for (Size m : c.attrs().sizes("interior"))
    steps.push_back(m + Size(1));
  c.grad(0, slice(c.dy(), c.attrs().sizes("lo"), c.x(0).sizes(), steps));
}

void vjp_transpose(VjpCtx& c) {
  std::vector<int> p = perm_of(c.attrs()), back(p.size());
  for (size_t i = 0; i < p.size(); ++i)
    back[p[i]] = static_cast<int>(i);
  c.grad(0, transpose(c.dy(), back));
}

std::vector<Operand> batch_broadcast(BatchCtx& c) {
  // The batch axis must not be taken for a stretched one: give the operand its full rank first.
  const Sizes& target = c.attrs.sizes("sizes");
  Sizes s = c.inputs[0].sizes();
  while (s.size() < target.size() + 1)
    s.insert(s.begin() + 1, Size(1));
  return {broadcast_to(reshape(c.inputs[0], s), prepend(c.batch, target))};
}

std::vector<Operand> batch_concat(BatchCtx& c) {
  stretch_to_batch(c);
  return {concat(std::move(c.inputs), static_cast<int>(c.attrs.integer("axis")) + 1)};
}

std::optional<Sizes> sizes_of_slice(const SizesCtx& c) {
  if (c.inputs[0].scalar) return std::nullopt;
  int64_t start = c.attrs.sizes("starts")[0].value(), step = c.attrs.sizes("steps")[0].value();
  Sizes out;
  for (size_t i = 0; i < c.count; ++i)
    out.push_back(c.inputs[0].values[static_cast<size_t>(start + static_cast<int64_t>(i) * step)]);
  return out;
}

std::optional<Sizes> sizes_of_concat(const SizesCtx& c) {
  Sizes out;
  for (const graph::SizeNumbers& part : c.inputs)
    for (Size s : part.values)
      out.push_back(s);
  return out;
}

std::vector<TestCase> reshape_cases(DType) {
  std::vector<TestCase> out;
  for (auto [from, to] : std::vector<std::pair<Dims, Dims>>{{{}, {1, 1}},
                                                            {{}, {1}},
                                                            {{1}, {}},
                                                            {{6}, {2, 3}},
                                                            {{2, 3, 5}, {5, 6}},
                                                            {{1, 4, 1}, {4}},
                                                            {{0, 3}, {5, 0}},
                                                            {{7, 37}, {37, 7}}})
    out.push_back({{{"sizes", to_sizes(to)}}, {{from}}});
  return out;
}

std::vector<TestCase> transpose_cases(DType) {
  const std::pair<Dims, Dims> cases[] = {{{1, 0}, {3, 5}}, {{2, 0, 1}, {3, 5, 2}}, {{0, 2, 1}, {3, 5, 2}}, {{0}, {3}}};
  std::vector<TestCase> out;
  for (const auto& [perm, sizes] : cases)
    for (bool empty : {false, true}) {
      Dims x = sizes;
      if (empty) x.back() = 0;
      out.push_back({{{"perm", to_sizes(perm)}}, {{x}}});
    }
  return out;
}

std::vector<TestCase> broadcast_cases(DType) {
  std::vector<TestCase> out;
  for (auto [from, to] : std::vector<std::pair<Dims, Dims>>{{{}, {3}},
                                                            {{}, {}},
                                                            {{3}, {2, 3}},
                                                            {{2, 1}, {2, 5}},
                                                            {{1, 3, 1}, {4, 3, 2}},
                                                            {{1}, {0}},
                                                            {{0}, {2, 0}},
                                                            {{1, 7}, {41, 7}}})
    out.push_back({{{"sizes", to_sizes(to)}}, {{from}}});
  return out;
}

struct TestWindow {
  Dims x, starts, sizes, steps;
};
Attrs attrs_of(const TestWindow& w) {
  return {{"starts", to_sizes(w.starts)}, {"sizes", to_sizes(w.sizes)}, {"steps", to_sizes(w.steps)}};
}
std::vector<TestCase> slice_cases(DType) {
  std::vector<TestCase> out;
  for (const TestWindow& w : {TestWindow{{5}, {1}, {3}, {1}},
                              {{7}, {0}, {4}, {2}},
                              {{7}, {6}, {3}, {-3}},
                              {{3, 5}, {2, 4}, {3, 5}, {-1, -1}},
                              {{3, 5}, {1, 0}, {1, 5}, {1, 1}},
                              {{4}, {2}, {0}, {1}},
                              {{0, 2}, {0, 0}, {0, 1}, {1, 1}},
                              {{1}, {0}, {1}, {1}},
                              {{5, 3}, {1, 1}, {2, 0}, {2, -1}}})
    out.push_back({attrs_of(w), {{w.x}}});
  return out;
}
std::vector<TestCase> slice_add_cases(DType) {
  std::vector<TestCase> out;
  for (const TestWindow& w : {TestWindow{{5}, {1}, {3}, {1}},
                              {{7}, {0}, {4}, {2}},
                              {{3, 5}, {1, 0}, {1, 5}, {1, 1}},
                              {{4}, {2}, {0}, {1}},
                              {{0, 2}, {0, 0}, {0, 1}, {1, 1}},
                              {{1}, {0}, {1}, {1}},
                              {{5, 3}, {1, 1}, {2, 2}, {2, 1}},
                              {{2, 3, 67}, {1, 0, 2}, {1, 3, 40}, {1, 1, 1}}})
    out.push_back({attrs_of(w), {{w.x}, {w.sizes}}});
  return out;
}

std::vector<TestCase> pad_cases(DType) {
  struct Frame {
    Dims x, lo, hi, interior;
  };
  std::vector<TestCase> out;
  for (const Frame& f : {Frame{{3}, {1}, {2}, {0}},
                         {{3}, {0}, {0}, {2}},
                         {{2, 3}, {0, 1}, {1, 0}, {1, 2}},
                         {{0}, {2}, {1}, {3}},
                         {{1}, {0}, {0}, {4}},
                         {{2, 0}, {1, 1}, {0, 0}, {0, 0}}})
    for (double value : {0.0, 1.0})
      out.push_back(
          {{{"lo", to_sizes(f.lo)}, {"hi", to_sizes(f.hi)}, {"interior", to_sizes(f.interior)}, {"value", value}},
           {{f.x}}});
  return out;
}

std::vector<TestCase> concat_cases(DType) {
  return {{{{"axis", int64_t{0}}}, {{{2}}, {{3}}}},
          {{{"axis", int64_t{1}}}, {{{2, 1}}, {{2, 3}}, {{2, 0}}}},
          {{{"axis", int64_t{0}}}, {{{0, 3}}, {{2, 3}}}},
          {{{"axis", int64_t{1}}}, {{{2, 2, 3}}, {{2, 5, 3}}}}};
}

const OpDef kOps[] = {
    {.name = "reshape",
     .kind = OpKind::Movement,
     .doc = "The same elements in row-major order under other sizes.",
     .arrangement = Arrangement::SameOrder,
     .dtypes = kAnyType,
     .infer = infer_sizes,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, reshape(c.dy(), c.x(0).sizes())); }),
     .batch = [](BatchCtx& c) { return std::vector{reshape(c.inputs[0], prepend(c.batch, c.attrs.sizes("sizes")))}; },
     .lower = lower_copy,
     .view = view_reshape,
     .sizes = kSameSizes,
     .cases = {.list = reshape_cases}},
    {.name = "transpose",
     .kind = OpKind::Movement,
     .doc = "Axes in another order.",
     .arrangement = Arrangement::Permuted,
     .dtypes = kAnyType,
     .infer = infer_transpose,
     .vjp = differentiable(vjp_transpose),
     .batch =
         [](BatchCtx& c) {
           std::vector<int> p = {0};
           for (int a : perm_of(c.attrs))
             p.push_back(a + 1);
           return std::vector{transpose(c.inputs[0], p)};
         },
     .view = view_transpose,
     .cases = {.list = transpose_cases}},
    {.name = "broadcast",
     .kind = OpKind::Movement,
     .doc = "Stretches axes of size 1 and adds leading axes.",
     .dtypes = kAnyType,
     .infer = infer_sizes,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, sum_to(c.dy(), c.x(0).sizes())); }),
     .batch = batch_broadcast,
     .view = view_broadcast,
     .sizes = kSameSizes,
     .cases = {.list = broadcast_cases}},
    {.name = "slice",
     .kind = OpKind::Movement,
     .doc = "Every step-th element from a start, per axis; a negative step walks back.",
     .dtypes = kAnyType,
     .infer = infer_sizes,
     .vjp = differentiable(vjp_slice),
     .batch =
         [](BatchCtx& c) {
           return std::vector{slice(c.inputs[0], prepend(0, c.attrs.sizes("starts")),
                                    prepend(c.batch, c.attrs.sizes("sizes")), prepend(1, c.attrs.sizes("steps")))};
         },
     .view = view_slice,
     .sizes = sizes_of_slice,
     .cases = {.list = slice_cases}},
    {.name = "slice_add",
     .kind = OpKind::Update,
     .doc = "x with every step-th element from a start, per axis, added to.",
     .dtypes = kAnyReal,
     .infer = infer_same,
     .vjp = differentiable([](VjpCtx& c) {
       c.grad(0, c.dy());
       if (c.needs(1))
         c.grad(1, slice(c.dy(), c.attrs().sizes("starts"), c.attrs().sizes("sizes"), c.attrs().sizes("steps")));
     }),
     .batch =
         [](BatchCtx& c) {
           stretch_to_batch(c);
           return std::vector{slice_add(c.inputs[0], c.inputs[1], prepend(0, c.attrs.sizes("starts")),
                                        prepend(1, c.attrs.sizes("steps")))};
         },
     .complex = complex_by_parts,
     .scalar = scalar_slice_add,
     .lower = lower_slice_add,
     .window = view_slice,
     .cases = {.list = slice_add_cases}},
    {.name = "pad",
     .kind = OpKind::Movement,
     .doc = "Adds a constant before, after and between the elements of each axis.",
     .dtypes = kAnyType,
     .infer = infer_pad,
     .vjp = differentiable(vjp_pad),
     .batch =
         [](BatchCtx& c) {
           return std::vector{pad(c.inputs[0], prepend(0, c.attrs.sizes("lo")), prepend(0, c.attrs.sizes("hi")),
                                  prepend(0, c.attrs.sizes("interior")), c.attrs.get<double>("value"))};
         },
     .complex = complex_pad,
     .lower = lower_pad,
     .cases = {.list = pad_cases}},
    {.name = "concat",
     .kind = OpKind::Movement,
     .doc = "Arrays one after the other along an axis.",
     .arrangement = Arrangement::Joined,
     .dtypes = kAnyType,
     .infer = infer_concat,
     .vjp = differentiable([](VjpCtx& c) {
       int axis = static_cast<int>(c.attrs().integer("axis"));
       Size at = 0;
       for (int i = 0; i < c.num_inputs(); ++i) {
         Size n = c.x(i).size(axis);
         if (c.needs(i)) c.grad(i, slice_axis(c.dy(), axis, at, n));
         at = at + n;
       }
     }),
     .batch = batch_concat,
     .lower = lower_concat,
     .sizes = sizes_of_concat,
     .cases = {.list = concat_cases}},
};

}  // namespace

std::span<const OpDef> movement_ops() { return kOps; }

}  // namespace sheaf::ops
