#include "runtime/executable.h"

#include <chrono>

#include "runtime/profiler.h"

namespace sheaf::runtime {
namespace {

// Scratch kept by each thread between calls: a training loop allocates nothing after its first step.
Ref<Buffer>& kept_scratch() {
  thread_local Ref<Buffer> kept;
  return kept;
}

std::byte* borrow_scratch(size_t bytes, Ref<Buffer>& held) {
  Ref<Buffer>& kept = kept_scratch();
  if (!kept || kept->size_bytes() < bytes || !kept->unique()) kept = Buffer::allocate(bytes);
  held = kept;
  return kept->data();
}

}  // namespace

void release_scratch() { kept_scratch() = nullptr; }

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs) const {
  Ref<Buffer> scratch;
  std::byte* scratch_data = scratch_bytes ? borrow_scratch(scratch_bytes, scratch) : nullptr;
  std::vector<Ref<Buffer>> fresh;
  for (int64_t bytes : output_buffers) fresh.push_back(Buffer::allocate(static_cast<size_t>(bytes)));
  auto address = [&](const Place& p) -> std::byte* {
    switch (p.kind) {
      case Place::Input: return inputs[p.index].bytes() + p.offset;
      case Place::Constant: return constants[p.index].bytes() + p.offset;
      case Place::Output: return fresh[p.index]->data() + p.offset;
      case Place::Scratch: break;
    }
    return scratch_data + p.offset;
  };
  SmallVec<std::byte*, 16> pointers;
  for (const Launch& l : launches) {
    pointers.clear();
    for (const Place& p : l.buffers) pointers.push_back(address(p));
    int64_t payload = 0;
    auto start = g_profiling ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    int site = l.kernel->run(pointers, l.sizes, payload);
    if (g_profiling) record_kernel(l.name, static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count()));
    if (site >= 0) throw CheckFailure{l.node, site, payload};
  }
  std::vector<Tensor> out;
  for (const OutputSpec& o : outputs) {
    Tensor t;
    t.dtype = o.dtype;
    t.sizes = o.sizes;
    t.strides = o.strides;
    const Tensor* source = o.place.kind == Place::Input ? &inputs[o.place.index] : o.place.kind == Place::Constant ? &constants[o.place.index] : nullptr;
    t.buffer = source ? source->buffer : fresh[o.place.index];
    t.offset = (source ? source->offset : 0) + o.place.offset / size_bytes(o.dtype);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace sheaf::runtime
