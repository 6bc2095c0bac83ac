#include "ops/window.h"

#include "loop/builder.h"
#include "ops/complex.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kAnyType;
using graph::kIntegers;
using graph::LowerCtx;
using graph::only;
using graph::OpKind;
using graph::VjpCtx;

// Elements of an axis that `count` positions of a window of `size` elements cover.
Size covered(Size count, Size size, Size stride, Size dilation) {
  return (count - Size(1)) * stride + (size - Size(1)) * dilation + Size(1);
}

std::vector<TensorType> infer_window(const InferCtx& c) {
  const Sizes &size = c.attrs.sizes("size"), &stride = c.attrs.sizes("stride"), &dilation = c.attrs.sizes("dilation");
  const Sizes& x = c.inputs[0].sizes;
  size_t lead = x.size() - size.size();
  Sizes s(x.begin(), x.begin() + lead);
  for (Size n : size)
    s.push_back(n);
  for (size_t i = 0; i < size.size(); ++i)
    s.push_back(floor_div(x[lead + i] - (size[i] - Size(1)) * dilation[i] - Size(1), stride[i]) + Size(1));
  return {{c.inputs[0].dtype, s}};
}

std::vector<TensorType> infer_unwindow(const InferCtx& c) {
  const Sizes &sizes = c.attrs.sizes("sizes"), &y = c.inputs[0].sizes;
  Sizes s(y.begin(), y.end() - 2 * sizes.size());
  for (Size n : sizes)
    s.push_back(n);
  return {{c.inputs[0].dtype, s}};
}

std::optional<Tensor> view_window(const Tensor& t, const Attrs& a) {
  Dims size = to_dims(a.sizes("size")), stride = to_dims(a.sizes("stride")), dilation = to_dims(a.sizes("dilation"));
  size_t lead = t.sizes.size() - size.size();
  Tensor out = t;
  out.sizes.resize(lead);
  out.strides.resize(lead);
  for (size_t i = 0; i < size.size(); ++i) {
    out.sizes.push_back(size[i]);
    out.strides.push_back(t.strides[lead + i] * dilation[i]);
  }
  for (size_t i = 0; i < size.size(); ++i) {
    out.sizes.push_back((t.sizes[lead + i] - (size[i] - 1) * dilation[i] - 1) / stride[i] + 1);
    out.strides.push_back(t.strides[lead + i] * stride[i]);
  }
  return out;
}

// For a program that needs the windows as an array of their own.
void lower_window(LowerCtx& c) {
  auto& b = c.b;
  const Sizes &stride = c.attrs.sizes("stride"), &dilation = c.attrs.sizes("dilation");
  size_t lead = c.in[0].sizes.size() - stride.size();
  c.for_each(c.out[0].sizes, [&](auto index) {
    std::vector<uint32_t> from(index.begin(), index.begin() + lead);
    for (size_t i = 0; i < stride.size(); ++i)
      from.push_back(b.add(b.mul(index[lead + i], b.i64(dilation[i].value())),
                           b.mul(index[lead + stride.size() + i], b.i64(stride[i].value()))));
    c.store(c.out[0], index, c.load(c.in[0], from));
  });
}

// Tap by tap, so that the inner loop adds one stretch of memory to another, and in an order that does not depend on
// threads.
void lower_unwindow(LowerCtx& c) {
  auto& b = c.b;
  const Sizes &stride = c.attrs.sizes("stride"), &dilation = c.attrs.sizes("dilation");
  size_t d = stride.size(), lead = c.out[0].sizes.size() - d;
  const auto &y = c.in[0], &x = c.out[0];
  auto mark = [&](size_t i) { return i + 1 == d ? loop::Mark::Vector : loop::Mark::Free; };
  uint32_t total = b.i64(1);
  for (size_t i = 0; i < lead; ++i)
    total = b.mul(total, x.sizes[i]);
  uint32_t rest = b.begin_loop(total, loop::Mark::Parallel);
  std::vector<uint32_t> to(lead + d), from(lead + 2 * d);
  for (size_t i = lead; i-- > 0; rest = b.binary(loop::Op::FloorDiv, rest, x.sizes[i]))
    to[i] = from[i] = b.binary(loop::Op::FloorMod, rest, x.sizes[i]);
  for (size_t i = 0; i < d; ++i)
    to[lead + i] = b.begin_loop(x.sizes[lead + i], mark(i));
  DType type = compute_type(x.dtype);
  c.store(x, to, b.number(type, 0));
  for (size_t i = 0; i < d; ++i)
    b.end();
  for (size_t i = 0; i < d; ++i)
    from[lead + i] = b.begin_loop(y.sizes[lead + i], loop::Mark::Serial);  // taps overlap
  for (size_t i = 0; i < d; ++i) {
    from[lead + d + i] = b.begin_loop(y.sizes[lead + d + i], mark(i));
    to[lead + i] =
        b.add(b.mul(from[lead + d + i], b.i64(stride[i].value())), b.mul(from[lead + i], b.i64(dilation[i].value())));
  }
  uint32_t sum = b.convert(b.load(x.buffer, c.offset(x, to)), type), tap = c.load(y, from);
  c.store(x, to, type == DType::Bool ? b.or_(sum, tap) : b.add(sum, tap));
  for (size_t i = 0; i < 2 * d + 1; ++i)
    b.end();
}

void vjp_window(VjpCtx& c) {
  Sizes x = c.x(0).sizes();
  size_t d = c.attrs().sizes("size").size();
  c.grad(0, unwindow(c.dy(), Sizes(x.end() - d, x.end()), c.attrs().sizes("stride"), c.attrs().sizes("dilation")));
}

void vjp_unwindow(VjpCtx& c) {
  const Sizes &stride = c.attrs().sizes("stride"), &dilation = c.attrs().sizes("dilation");
  Sizes y = c.x(0).sizes();
  int d = static_cast<int>(stride.size()), lead = c.x(0).rank() - 2 * d;
  Operand g = c.dy();
  Sizes size;
  for (int i = 0; i < d; ++i) {
    size.push_back(y[lead + i]);
    g = slice_axis(g, lead + i, 0,
                   covered(y[lead + d + i], y[lead + i], stride[i], dilation[i]));  // beyond that no window reaches
  }
  c.grad(0, window(g, size, stride, dilation));
}

// A batch axis is one more leading axis.
std::vector<Operand> batch_leading(BatchCtx& c) { return graph::apply_all(c.op, {c.inputs[0]}, c.attrs); }

struct TestWindow {
  Dims x;
  Sizes size, stride, dilation;
};
std::vector<TestWindow> test_windows() {
  return {{{7}, {3}, {1}, {1}}, {{2, 9}, {3}, {2}, {2}}, {{2, 5, 6}, {2, 3}, {1, 2}, {2, 1}},
          {{1}, {1}, {1}, {1}}, {{0, 4}, {2}, {1}, {1}}, {{3, 8}, {2}, {3}, {1}}};
}
std::vector<TestCase> window_cases(DType) {
  std::vector<TestCase> out;
  for (const TestWindow& w : test_windows())
    out.push_back({{{"size", w.size}, {"stride", w.stride}, {"dilation", w.dilation}}, {{w.x}}});
  return out;
}
std::vector<TestCase> unwindow_cases(DType d) {
  std::vector<TestCase> out;
  for (const TestWindow& w : test_windows()) {
    TensorType x{d, to_sizes(w.x)};
    Attrs attrs{{"size", w.size}, {"stride", w.stride}, {"dilation", w.dilation}};
    Dims y = to_dims(infer_window({{&x, 1}, attrs})[0].sizes);
    Sizes sizes(x.sizes.end() - static_cast<ptrdiff_t>(w.size.size()), x.sizes.end());
    out.push_back({{{"sizes", sizes}, {"stride", w.stride}, {"dilation", w.dilation}}, {{y}}});
  }
  return out;
}

const OpDef kOps[] = {
    {.name = "window",
     .kind = OpKind::Movement,
     .doc = "The last axes through windows that may overlap: [lead…, size…, out…].",
     .dtypes = kAnyType,
     .infer = infer_window,
     .vjp = differentiable(vjp_window),
     .batch = batch_leading,
     .lower = lower_window,
     .view = view_window,
     .cases = {.list = window_cases}},
    {.name = "unwindow",
     .kind = OpKind::Scatter,
     .doc = "Windows added back to the places they were read from.",
     .dtypes = only(DType::F32) | only(DType::F64) | kIntegers,
     .infer = infer_unwindow,
     .vjp = differentiable(vjp_unwindow),
     .batch = batch_leading,
     .complex = complex_by_parts,
     .lower = lower_unwindow,
     .cases = {.list = unwindow_cases}},
};

}  // namespace

Operand window(Operand x, Sizes size, Sizes stride, Sizes dilation) {
  return graph::apply(op("window"), {std::move(x)},
                      {{"size", std::move(size)}, {"stride", std::move(stride)}, {"dilation", std::move(dilation)}});
}

namespace {

// Adjacent windows are a partition of the axis: [lead…, size…, out…] with the axes of a pair brought together.
bool is_partition(const Sizes& y, const Sizes& sizes, const Sizes& stride, const Sizes& dilation) {
  size_t d = sizes.size(), lead = y.size() - 2 * d;
  for (size_t i = 0; i < d; ++i)
    if (!(y[lead + i] == stride[i]) || !(dilation[i] == Size(1)) || !(y[lead + d + i] * stride[i] == sizes[i]))
      return false;
  return true;
}

}  // namespace

Operand unwindow(Operand y, Sizes sizes, Sizes stride, Sizes dilation) {
  DType dtype = y.dtype();
  if (is_partition(y.sizes(), sizes, stride, dilation)) {
    int d = static_cast<int>(sizes.size()), lead = y.rank() - 2 * d;
    std::vector<int> perm;
    for (int i = 0; i < lead; ++i)
      perm.push_back(i);
    for (int i = 0; i < d; ++i) {
      perm.push_back(lead + d + i);
      perm.push_back(lead + i);
    }
    Sizes ys = y.sizes(), out(ys.begin(), ys.begin() + lead);
    for (Size n : sizes)
      out.push_back(n);
    return reshape(transpose(std::move(y), perm), out);
  }
  // Narrow types would round after every window.
  if (compute_type(dtype) != dtype)
    return cast(unwindow(cast(std::move(y), compute_type(dtype)), sizes, stride, dilation), dtype);
  return graph::apply(op("unwindow"), {std::move(y)},
                      {{"sizes", std::move(sizes)}, {"stride", std::move(stride)}, {"dilation", std::move(dilation)}});
}

std::span<const OpDef> window_ops() { return kOps; }

}  // namespace sheaf::ops
