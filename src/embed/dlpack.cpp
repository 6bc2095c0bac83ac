// Tensors of other programs as ours and the other way round, without copies but for those that come in on a GPU.
#include <fmt/format.h>
#include <sheaf/dlpack.h>

#include <memory>

#include "embed/handle.h"
#include "runtime/device_cuda.h"
#include "support/error.h"

namespace sheaf::embed {
namespace {

constexpr DLDataType kTypes[kNumDTypes] = {
    {kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLBfloat, 16, 1},  {kDLFloat, 16, 1}, {kDLInt, 32, 1},
    {kDLInt, 64, 1},   {kDLUInt, 32, 1},  {kDLBool, 8, 1},     {kDLInt, 8, 1},    {kDLUInt, 8, 1},
    {kDLInt, 16, 1},   {kDLUInt, 16, 1},  {kDLComplex, 64, 1},
};

DType dtype_of(const DLDataType& t) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kTypes[i].code == t.code && kTypes[i].bits == t.bits && t.lanes == 1) return static_cast<DType>(i);
  const char* name = t.code == kDLInt ? "int" : t.code == kDLUInt ? "uint" : t.code == kDLFloat ? "float" : "";
  std::string text =
      *name ? fmt::format("{}{}", name, t.bits) : fmt::format("type code {} with {} bits", t.code, t.bits);
  if (t.lanes != 1) text += fmt::format(" in vectors of {}", t.lanes);
  throw HostError{fmt::format("Sheaf has no tensors of {}; its dtypes are {}", text, dtype_list())};
}

// `bytes` of memory from `data` on belong to `m`.
Ref<Buffer> buffer_of(DLManagedTensor* m, std::byte* data, size_t bytes) {
  return make_ref<Buffer>(data, bytes, [m] {
    if (m->deleter) m->deleter(m);
  });
}

// The GPU that sessions compute on, or nullptr.
runtime::CudaDevice* gpu_in_use() {
  runtime::Device* const device = runtime::g_device;
  return device && device->target().id == runtime::TargetId::Cuda ? static_cast<runtime::CudaDevice*>(device) : nullptr;
}

// The GPU that the tensor is on; nullptr if it is in the memory of the CPU.
runtime::CudaDevice* device_of(const DLDevice& d) {
  if (d.device_type == kDLCPU || d.device_type == kDLCUDAHost) return nullptr;
  if (d.device_type != kDLCUDA)
    throw HostError{"the tensor is neither in the memory of the CPU nor of a CUDA GPU; move it to the CPU first"};
  runtime::CudaDevice* const gpu = gpu_in_use();
  if (!gpu || gpu->number() != d.device_id)
    throw HostError{
        fmt::format("the tensor is on the GPU cuda:{0} and Sheaf computes on {1}; move it to the CPU, or "
                    "choose the GPU first (sheaf_use_device, in Python sheaf.use_device(\"cuda:{0}\"))",
                    d.device_id, gpu ? gpu->name() : "the CPU")};
  return gpu;
}

Tensor tensor_of(DLManagedTensor* m) {
  const DLTensor& d = m->dl_tensor;
  runtime::CudaDevice* const gpu = device_of(d.device);
  if (d.ndim < 0 || d.ndim > kMaxRank)
    throw HostError{fmt::format("the tensor has {} axes; the limit is {}", d.ndim, kMaxRank)};
  Tensor t;
  t.dtype = dtype_of(d.dtype);
  t.sizes.assign(d.shape, d.shape + d.ndim);
  for (int64_t n : t.sizes)
    if (n < 0) throw HostError{"the tensor has a negative size"};
  int64_t elems = checked_num_elems(t.sizes);
  t.strides = contiguous_strides(t.sizes);
  static std::byte nothing[64];
  if (elems == 0) {
    t.buffer = buffer_of(m, nothing, 0);
    return t;
  }
  if (d.strides) t.strides.assign(d.strides, d.strides + d.ndim);
  const Extent extent = extent_of(t.sizes, t.strides);
  auto size = size_bytes(t.dtype);
  auto* first = static_cast<std::byte*>(d.data) + d.byte_offset;
  if (!d.data) throw HostError{"the tensor has no memory"};
  if (reinterpret_cast<uintptr_t>(first) % static_cast<uintptr_t>(size) != 0)
    throw HostError{fmt::format("the tensor's memory is not aligned to its elements of {} bytes; copy it first", size)};
  t.offset = -extent.first;
  if (gpu) {
    // A copy: others may give the memory back, or write to it, as soon as they have the tensor back.
    const auto bytes = static_cast<size_t>(extent.count * size);
    const int64_t begin = extent.first * size;
    t.buffer = Buffer::allocate(*gpu, bytes);
    gpu->synchronize_all();
    gpu->submit(runtime::DeviceCopy{runtime::address_in(*gpu, t) + begin, first + begin, bytes});
    gpu->wait(gpu->mark());
    if (m->deleter) m->deleter(m);
    return t;
  }
  t.buffer = buffer_of(m, first + extent.first * size, static_cast<size_t>(extent.count * size));
  return t;
}

DLTensor layout_of(const Tensor& t) {
  DLTensor d{};
  runtime::CudaDevice* const gpu = gpu_in_use();
  d.device = gpu && !t.buffer->is_on_host() ? DLDevice{kDLCUDA, gpu->number()} : DLDevice{kDLCPU, 0};
  d.ndim = t.rank();
  d.dtype = kTypes[static_cast<int>(t.dtype)];
  d.shape = const_cast<int64_t*>(t.sizes.data());
  d.strides = const_cast<int64_t*>(t.strides.data());
  return d;
}

// What a consumer holds: the tensor's buffer, and the arrays that its description points to.
struct Export {
  DLManagedTensor managed{};
  Tensor tensor;
  runtime::CudaDevice* gpu = nullptr;  // where it is shown
  // The consumer's work on a GPU may still read the memory.
  ~Export() {
    if (gpu) gpu->synchronize_all();
  }
};

// `there`: a tensor on a GPU is shown on it.
DLManagedTensor* managed_of(const Tensor& given, bool there) {
  auto e = std::make_unique<Export>();
  e->tensor = given;
  for (int64_t s : given.strides)
    if (s < 0) e->tensor = copy_of(given);  // some consumers know no negative strides
  DLTensor& d = e->managed.dl_tensor = layout_of(e->tensor);
  if (there && d.device.device_type == kDLCUDA) {
    e->gpu = gpu_in_use();
    d.data = runtime::address_in(*e->gpu, e->tensor);
    e->gpu->wait(e->gpu->mark());
  } else {
    d.device = {kDLCPU, 0};
    d.data = const_cast<std::byte*>(e->tensor.bytes());
  }
  e->managed.manager_ctx = e.get();
  e->managed.deleter = [](DLManagedTensor* m) { delete static_cast<Export*>(m->manager_ctx); };
  return &e.release()->managed;
}

}  // namespace
}  // namespace sheaf::embed

sheaf_error* sheaf_from_dlpack(DLManagedTensor* tensor, sheaf_value** out) {
  *out = nullptr;
  return sheaf::embed::caught([&] {
    // The handle is made first: from the moment the buffer exists, dropping it gives the memory back.
    auto handle = std::make_unique<sheaf_value>(sheaf_value{sheaf::Value(), 0});
    handle->value = sheaf::Value::tensor(sheaf::embed::tensor_of(tensor));
    *out = handle.release();
  });
}

static sheaf_error* to_dlpack(const sheaf_value* value, bool there, DLManagedTensor** out) {
  *out = nullptr;
  return sheaf::embed::caught([&] {
    if (!value->value.is_tensor()) throw sheaf::embed::HostError{"the value is not a tensor"};
    *out = sheaf::embed::managed_of(value->value.as_tensor(), there);
  });
}
sheaf_error* sheaf_to_dlpack(const sheaf_value* value, DLManagedTensor** out) { return to_dlpack(value, false, out); }
sheaf_error* sheaf_to_dlpack_on_device(const sheaf_value* value, DLManagedTensor** out) {
  return to_dlpack(value, true, out);
}

sheaf_error* sheaf_tensor_layout(const sheaf_value* value, DLManagedTensor* out) {
  return sheaf::embed::caught([&] {
    *out = {};
    if (!value->value.is_tensor()) throw sheaf::embed::HostError{"the value is not a tensor"};
    out->dl_tensor = sheaf::embed::layout_of(value->value.as_tensor());
  });
}
