// Tensors of other programs as ours and the other way round, without copies.
#include <fmt/format.h>
#include <sheaf/dlpack.h>

#include <memory>

#include "embed/handle.h"
#include "support/error.h"

namespace sheaf::embed {
namespace {

constexpr DLDataType kTypes[kNumDTypes] = {
    {kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLBfloat, 16, 1}, {kDLFloat, 16, 1}, {kDLInt, 32, 1}, {kDLInt, 64, 1},
    {kDLUInt, 32, 1},  {kDLBool, 8, 1},   {kDLInt, 8, 1},     {kDLUInt, 8, 1},   {kDLInt, 16, 1}, {kDLUInt, 16, 1},
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

Tensor tensor_of(DLManagedTensor* m) {
  const DLTensor& d = m->dl_tensor;
  if (d.device.device_type != kDLCPU && d.device.device_type != kDLCUDAHost)
    throw HostError{"the tensor is not in the memory of the CPU; move it there first"};
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
  t.buffer = buffer_of(m, first + extent.first * size, static_cast<size_t>(extent.count * size));
  return t;
}

// What a consumer holds: the tensor's buffer, and the arrays that its description points to.
struct Export {
  DLManagedTensor managed{};
  Tensor tensor;
};

DLManagedTensor* managed_of(const Tensor& given) {
  auto e = std::make_unique<Export>();
  e->tensor = given;
  for (int64_t s : given.strides)
    if (s < 0) e->tensor = copy_of(given);  // some consumers know no negative strides
  DLTensor& d = e->managed.dl_tensor;
  d.data = const_cast<std::byte*>(e->tensor.bytes());
  d.device = {kDLCPU, 0};
  d.ndim = e->tensor.rank();
  d.dtype = kTypes[static_cast<int>(given.dtype)];
  d.shape = e->tensor.sizes.data();
  d.strides = e->tensor.strides.data();
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

sheaf_error* sheaf_to_dlpack(const sheaf_value* value, DLManagedTensor** out) {
  *out = nullptr;
  return sheaf::embed::caught([&] {
    if (!value->value.is_tensor()) throw sheaf::embed::HostError{"the value is not a tensor"};
    *out = sheaf::embed::managed_of(value->value.as_tensor());
  });
}
