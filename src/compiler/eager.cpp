#include "compiler/eager.h"

#include "compiler/lowered.h"
#include "memory/layout.h"
#include "support/error.h"

namespace sheaf::compiler {
namespace {

using graph::Attrs;
using graph::OpDef;
using graph::OpKind;

void set_layout(Tensor& t, memory::Layout layout) {
  t.sizes = std::move(layout.sizes);
  t.strides = std::move(layout.strides);
}

// The input as [outer, reduced, inner]; axes that are not neighbours are moved together first.
Tensor canonical_reduce_input(const Tensor& t, const Attrs& attrs) {
  std::vector<bool> reduced(t.rank(), false);
  for (Size s : attrs.sizes("axes"))
    reduced[s.value()] = true;
  int first = 0;
  while (first < t.rank() && !reduced[first])
    ++first;
  int last = first;
  while (last < t.rank() && reduced[last])
    ++last;
  bool together = true;
  for (int i = last; i < t.rank(); ++i)
    together &= !reduced[i];
  Tensor moved = t;
  if (!together) {
    int at = 0;
    for (bool want : {false, true}) {
      if (want) first = at;
      for (int i = 0; i < t.rank(); ++i)
        if (reduced[i] == want) {
          moved.sizes[at] = t.sizes[i];
          moved.strides[at++] = t.strides[i];
        }
    }
    last = t.rank();
  }
  int64_t parts[3] = {1, 1, 1};
  for (int i = 0; i < t.rank(); ++i)
    parts[i < first ? 0 : i < last ? 1 : 2] *= moved.sizes[i];
  return reshaped(moved, {parts[0], parts[1], parts[2]});
}

// Values that are there already are on this side.
int run_here(KernelKey key, std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) {
  const LoweredKernel kernel = lowered_op(cpu_backend(), std::move(key));
  return static_cast<const runtime::CpuKernel&>(*kernel.code).run(buffers, sizes, payload);
}

// Arrays of one shape without gaps are a single row: the common case of eager arithmetic, worth skipping the layouts.
bool launch_flat(const OpDef& op, const Attrs& attrs, const std::vector<Tensor>& in, const Tensor& out) {
  for (const Tensor& t : in)
    if (!(t.sizes == out.sizes) || !t.is_contiguous()) return false;
  int64_t n = out.num_elems();
  KernelKey key{.op = &op, .attrs = attrs, .use = KernelUse::Alone};
  SmallVec<int64_t, 8> sizes;
  SmallVec<std::byte*, 4> buffers;
  for (const Tensor& t : in) {
    key.add_input(t.dtype, 1);
    sizes.push_back(n);
    sizes.push_back(1);
    buffers.push_back(const_cast<std::byte*>(t.bytes()));
  }
  key.add_output(out.dtype, 1);
  sizes.push_back(n);
  buffers.push_back(out.bytes_mut());
  int64_t payload;
  run_here(std::move(key), buffers, sizes, payload);
  return true;
}

void launch(const OpDef& op, const Attrs& attrs, const std::vector<Tensor>& in, const std::vector<Tensor>& out,
            std::span<const graph::TensorType> in_types) {
  KernelKey key{.op = &op, .attrs = attrs, .use = KernelUse::Alone};
  SmallVec<int64_t, 48> sizes;
  SmallVec<std::byte*, 8> buffers;
  for (const Tensor& t : in) {
    key.add_input(t.dtype, t.rank());
    for (int64_t s : t.sizes)
      sizes.push_back(s);
    for (int64_t s : t.strides)
      sizes.push_back(s);
    buffers.push_back(const_cast<std::byte*>(t.bytes()));
  }
  for (const Tensor& t : out) {
    key.add_output(t.dtype, t.rank());
    for (int64_t s : t.sizes)
      sizes.push_back(s);
    buffers.push_back(t.bytes_mut());
  }
  int64_t payload;
  int site = run_here(std::move(key), buffers, sizes, payload);
  if (site < 0) return;
  INVARIANT(op.check_text, op.name << " has a check without a text");
  throw runtime_error(op.check_text({site, payload, in_types, attrs}));
}

std::vector<Tensor> outputs_of(const OpDef& op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                               const std::vector<graph::TensorType>& out_types) {
  if (op.view) {
    if (auto v = op.view(inputs[0], attrs)) return {std::move(*v)};
    // Movement that strides cannot express (a reshape of a transposed array) is a copy in row-major order.
    return {reshaped(inputs[0], to_dims(out_types[0].sizes))};
  }
  std::vector<Tensor> outputs;
  for (const auto& t : out_types)
    outputs.push_back(empty_tensor(t.dtype, to_dims(t.sizes)));
  std::vector<graph::TensorType> in_types;
  if (op.check_text)
    for (const Tensor& t : inputs)
      in_types.push_back({t.dtype, to_sizes(t.sizes)});

  if (op.kind == OpKind::Elementwise) {
    if (outputs[0].num_elems() == 0) return outputs;
    if (!op.check_text && launch_flat(op, attrs, inputs, outputs[0])) return outputs;
    std::vector<memory::Layout> layouts{{outputs[0].sizes, outputs[0].strides}};
    for (const Tensor& t : inputs)
      layouts.push_back(memory::stretched({t.sizes, t.strides}, outputs[0].sizes));
    memory::collapse_axes(layouts);
    std::vector<Tensor> in = inputs;
    for (size_t i = 0; i < in.size(); ++i)
      set_layout(in[i], std::move(layouts[i + 1]));
    Tensor out = outputs[0];
    set_layout(out, std::move(layouts[0]));
    launch(op, attrs, in, {out}, in_types);
    return outputs;
  }
  if (op.kind == OpKind::Reduce) {
    Tensor x = canonical_reduce_input(inputs[0], attrs);
    Tensor flat = reshaped(outputs[0], {x.sizes[0], x.sizes[2]});
    launch(op, {{"inner1", x.sizes[2] == 1}}, {x}, {flat}, in_types);
    return outputs;
  }
  std::vector<Tensor> in = inputs;
  if (op.kind == OpKind::Ordered)
    for (Tensor& t : in)
      t = contiguous(t);
  launch(op, attrs, in, outputs, in_types);
  return outputs;
}

}  // namespace

void (*g_op_listener)(std::span<const Tensor>, std::span<const Tensor>) = nullptr;

std::vector<Tensor> run_op(const OpDef& op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                           const std::vector<graph::TensorType>& out_types) {
  std::vector<Tensor> outputs = outputs_of(op, inputs, attrs, out_types);
  if (g_op_listener) [[unlikely]]
    g_op_listener(inputs, outputs);
  return outputs;
}

}  // namespace sheaf::compiler
