#include "runtime/run_memory.h"

namespace sheaf::runtime {

std::byte* address(const Place& p, const Plan& plan, const Memory& m) {
  switch (p.kind) {
    case Place::Input: return m.inputs[p.index] + p.offset;
    case Place::Constant: {
      const Tensor& t = plan.constants[p.index];
      return (m.space ? address_in(*m.space, t) : const_cast<std::byte*>(t.bytes())) + p.offset;
    }
    case Place::Output: return m.results[p.index] + p.offset;
    case Place::Scratch: break;
  }
  return m.scratch + p.offset;
}

Pointers pointers(const StepBase& step, const Plan& plan, const Memory& m) {
  Pointers out;
  for (const Place& p : step.buffers)
    out.push_back(address(p, plan, m));
  return out;
}

std::byte* address_in(Space& space, const Tensor& t) {
  return reinterpret_cast<std::byte*>(t.buffer->in(space)) + t.offset * size_bytes(t.dtype);
}

std::vector<ResultBuffer> take_results(const Plan& plan, std::span<const Tensor> inputs,
                                       std::span<const uint8_t> given_up, Space& space) {
  std::vector<ResultBuffer> results;
  results.reserve(plan.output_buffers.size());
  for (const OutputBuffer& o : plan.output_buffers) {
    if (o.donor >= 0 && !given_up.empty() && given_up[o.donor] && &inputs[o.donor].buffer->home() == &space) {
      const Tensor& t = inputs[o.donor];
      t.buffer->will_change();
      results.push_back({t.buffer, t.offset * size_bytes(t.dtype), true});
    } else {
      results.push_back({Buffer::allocate(space, static_cast<size_t>(o.bytes)), 0, false});
    }
  }
  return results;
}

std::vector<Tensor> outputs_of(const Plan& plan, std::span<const Tensor> inputs,
                               std::span<const ResultBuffer> results) {
  std::vector<Tensor> out;
  out.reserve(plan.outputs.size());
  for (const OutputSpec& o : plan.outputs) {
    Tensor t;
    t.dtype = o.dtype;
    t.sizes = o.sizes;
    t.strides = o.strides;
    int64_t offset = o.place.offset;
    if (o.place.kind == Place::Output) {
      t.buffer = results[o.place.index].buffer;
      offset += results[o.place.index].offset_bytes;
    } else {
      const Tensor& source = o.place.kind == Place::Input ? inputs[o.place.index] : plan.constants[o.place.index];
      t.buffer = source.buffer;
      offset += source.offset * size_bytes(source.dtype);
    }
    t.offset = offset / size_bytes(o.dtype);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace sheaf::runtime
