#include "compiler/eager.h"

#include <algorithm>
#include <optional>

#include "compiler/lowered.h"
#include "memory/layout.h"
#include "ops/table.h"
#include "runtime/device.h"
#include "runtime/idle_memory.h"
#include "runtime/run_memory.h"
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

// One kernel that runs now, on the host or on a device.
class Kernel {
 public:
  Kernel(const OpDef& op, const Attrs& attrs, runtime::Device* device)
      : key_{.op = &op, .attrs = attrs, .use = KernelUse::Alone}, device_(device) {}

  // `rank`: of the array as the kernel sees it.
  void add_input(const Tensor& t, int rank) {
    key_.add_input(t.dtype, rank);
    add_range(t);
    buffers_.push_back(device_ ? runtime::address_in(*device_, t) : const_cast<std::byte*>(t.bytes()));
  }
  void add_output(const Tensor& t, int rank) {
    key_.add_output(t.dtype, rank);
    add_range(t);
    buffers_.push_back(device_ ? runtime::address_in(*device_, t) : t.bytes_mut());
  }
  void add_size(int64_t n) { sizes_.push_back(n); }

  // The check that failed.
  std::optional<runtime::CheckFailure> run() {
    if (device_) return run_there();
    const LoweredKernel kernel = lowered_op(cpu_backend(), std::move(key_));
    int64_t payload;
    const int site = static_cast<const runtime::CpuKernel&>(*kernel.code).run(buffers_, sizes_, payload);
    return site < 0 ? std::nullopt : std::optional(runtime::CheckFailure{-1, site, payload});
  }

 private:
  std::optional<runtime::CheckFailure> run_there() {
    const LoweredKernel kernel = lowered_op(backend_of(device_->target().id), std::move(key_));
    runtime::DeviceLaunch launch{
        kernel.code, {buffers_.begin(), buffers_.end()}, {sizes_.begin(), sizes_.end()}, std::move(ranges_)};
    if (kernel.checks) return runtime::submit_and_check(*device_, std::move(launch));
    device_->submit(std::move(launch));
    return std::nullopt;
  }

  void add_range(const Tensor& t) {
    if (!device_) return;
    const Extent e = extent_of(t.sizes, t.strides);
    ranges_.push_back({e.first * size_bytes(t.dtype), e.count * size_bytes(t.dtype)});
  }

  KernelKey key_;
  runtime::Device* device_;
  SmallVec<int64_t, 48> sizes_;
  SmallVec<std::byte*, 8> buffers_;
  SmallVec<runtime::ByteRange, 16> ranges_;
};

// Arrays of one shape without gaps are a single row: the common case of eager arithmetic, worth skipping the layouts.
bool launch_flat(const OpDef& op, const Attrs& attrs, const std::vector<Tensor>& in, const Tensor& out,
                 runtime::Device* device) {
  for (const Tensor& t : in)
    if (!(t.sizes == out.sizes) || !t.is_contiguous()) return false;
  const int64_t n = out.num_elems();
  Kernel kernel(op, attrs, device);
  for (const Tensor& t : in) {
    kernel.add_input(t, 1);
    kernel.add_size(n);
    kernel.add_size(1);
  }
  kernel.add_output(out, 1);
  kernel.add_size(n);
  kernel.run();
  return true;
}

void launch(const OpDef& op, const Attrs& attrs, const std::vector<Tensor>& in, const std::vector<Tensor>& out,
            std::span<const graph::TensorType> in_types, runtime::Device* device) {
  Kernel kernel(op, attrs, device);
  for (const Tensor& t : in) {
    kernel.add_input(t, t.rank());
    for (int64_t s : t.sizes)
      kernel.add_size(s);
    for (int64_t s : t.strides)
      kernel.add_size(s);
  }
  for (const Tensor& t : out) {
    kernel.add_output(t, t.rank());
    for (int64_t s : t.sizes)
      kernel.add_size(s);
  }
  const auto failed = kernel.run();
  if (!failed) return;
  INVARIANT(op.check_text, op.name << " has a check without a text");
  throw runtime_error(op.check_text({failed->site, failed->payload, in_types, attrs}));
}

// With as few axes as the strides allow.
void launch_elementwise(const OpDef& op, const Attrs& attrs, std::vector<Tensor> in, Tensor out,
                        std::span<const graph::TensorType> in_types, runtime::Device* device) {
  std::vector<memory::Layout> layouts{{out.sizes, out.strides}};
  for (const Tensor& t : in)
    layouts.push_back(memory::stretched({t.sizes, t.strides}, out.sizes));
  memory::collapse_axes(layouts);
  for (size_t i = 0; i < in.size(); ++i)
    set_layout(in[i], std::move(layouts[i + 1]));
  set_layout(out, std::move(layouts[0]));
  launch(op, attrs, in, {out}, in_types, device);
}

// Where an op runs.
runtime::Device* device_of(const std::vector<Tensor>& inputs, const std::vector<graph::TensorType>& out_types) {
  if (!runtime::g_device) return nullptr;
  bool any_there = false;
  int64_t elements = 0;
  for (const Tensor& t : inputs) {
    any_there |= !t.buffer->is_on_host();
    elements = std::max(elements, t.num_elems());
  }
  for (const auto& t : out_types)
    elements = std::max(elements, checked_num_elems(to_dims(t.sizes)));
  return runtime::device_for(any_there, elements);
}

// A small part of a large array on a device as an array of its own: who reads it on the host fetches no more than that.
Tensor small_part(Tensor view) {
  constexpr int64_t kSmall = 4096;  // bytes
  constexpr size_t kLarge = 64 * kSmall;
  const bool copies = !view.buffer->is_on_host() && view.buffer->size_bytes() >= kLarge &&
                      view.num_elems() * size_bytes(view.dtype) <= kSmall;
  return copies ? copy_of(view) : view;
}

std::vector<Tensor> outputs_of(const OpDef& op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                               const std::vector<graph::TensorType>& out_types) {
  if (op.view) {
    if (auto v = op.view(inputs[0], attrs)) return {small_part(std::move(*v))};
    // Movement that strides cannot express (a reshape of a transposed array) is a copy in row-major order.
    return {reshaped(inputs[0], to_dims(out_types[0].sizes))};
  }
  runtime::Device* const device = device_of(inputs, out_types);
  Space& space = device ? *device : host_space();
  std::vector<Tensor> outputs;
  for (const auto& t : out_types)
    outputs.push_back(empty_tensor(space, t.dtype, to_dims(t.sizes)));
  std::vector<graph::TensorType> in_types;
  if (op.check_text)
    for (const Tensor& t : inputs)
      in_types.push_back({t.dtype, to_sizes(t.sizes)});

  if (op.kind == OpKind::Elementwise) {
    if (outputs[0].num_elems() == 0) return outputs;
    if (!op.check_text && launch_flat(op, attrs, inputs, outputs[0], device)) return outputs;
    launch_elementwise(op, attrs, inputs, outputs[0], in_types, device);
    return outputs;
  }
  if (op.kind == OpKind::Reduce) {
    Tensor x = canonical_reduce_input(inputs[0], attrs);
    Tensor flat = reshaped(outputs[0], {x.sizes[0], x.sizes[2]});
    launch(op, {{"inner1", x.sizes[2] == 1}}, {x}, {flat}, in_types, device);
    return outputs;
  }
  std::vector<Tensor> in = inputs;
  if (op.kind == OpKind::Ordered)
    for (Tensor& t : in)
      t = contiguous(t);
  launch(op, attrs, in, outputs, in_types, device);
  return outputs;
}

}  // namespace

void (*g_op_listener)(std::span<const Tensor>, std::span<const Tensor>) = nullptr;

std::vector<Tensor> run_op(const OpDef& op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                           const std::vector<graph::TensorType>& out_types) {
  auto run = [&] { return outputs_of(op, inputs, attrs, out_types); };
  std::vector<Tensor> outputs = runtime::g_device ? runtime::DeviceUse().with_memory(*runtime::g_device, run) : run();
  if (g_op_listener) [[unlikely]]
    g_op_listener(inputs, outputs);
  return outputs;
}

namespace {

// Between complex and real numbers: without an imaginary part.
void copy_parts(const Tensor& from, const Tensor& to) {
  if (is_complex(to.dtype))
    return launch_elementwise(ops::op("complex"), {}, {cast_tensor(from, DType::F32), zeros_tensor(DType::F32, {})}, to,
                              {}, runtime::g_device);
  Tensor real = to.dtype == DType::F32 ? to : empty_tensor(to.buffer->home(), DType::F32, to.sizes);
  launch_elementwise(ops::op("real"), {}, {from}, real, {}, runtime::g_device);
  if (to.dtype != DType::F32) copy_elements(real, to);
}

}  // namespace

void copy_elements(const Tensor& from, const Tensor& to) {
  if (to.num_elems() == 0) return;
  if (is_complex(from.dtype) != is_complex(to.dtype)) return copy_parts(from, to);
  launch_elementwise(ops::op("cast"), {{"dtype", to.dtype}}, {from}, to, {}, runtime::g_device);
}

}  // namespace sheaf::compiler
