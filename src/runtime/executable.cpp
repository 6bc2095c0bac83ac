#include "runtime/executable.h"

#include <chrono>

#include "runtime/packed.h"
#include "runtime/part_taker.h"
#include "runtime/profiler.h"
#include "runtime/row_maker.h"

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

using Clock = std::chrono::steady_clock;
Clock::time_point now() { return g_profiling ? Clock::now() : Clock::time_point(); }

}  // namespace

void release_scratch() { kept_scratch() = nullptr; }

bool (*g_stop_requested)() = nullptr;

void (*g_run_steps)(const Executable&, const Memory&) = nullptr;

std::byte* Executable::address(const Place& p, const Memory& m) const {
  switch (p.kind) {
    case Place::Input: return m.inputs[p.index] + p.offset;
    case Place::Constant: return constants[p.index].bytes() + p.offset;
    case Place::Output: return m.results[p.index] + p.offset;
    case Place::Scratch: break;
  }
  return m.scratch + p.offset;
}

const Buffer* Executable::unchanged(const Place& p, const Memory& m) const {
  if (p.kind == Place::Constant) return constants[p.index].buffer.get();
  if (p.kind != Place::Input || m.owners.empty() || (!m.given_up.empty() && m.given_up[p.index])) return nullptr;
  return m.owners[p.index].buffer.get();
}

Executable::Pointers Executable::pointers(const Launch& l, const Memory& m) const {
  Pointers out;
  for (const Place& p : l.buffers)
    out.push_back(address(p, m));
  return out;
}

void Executable::run_launch(const Launch& l, const Memory& m) const {
  Pointers pointers = this->pointers(l, m);
  if (l.is_copy && pointers[0] == pointers[1]) return;
  int64_t payload = 0;
  int site = -1;
  auto start = now();
  if (std::byte* packed = l.packed ? packed_operand(l, *this, m) : nullptr) {
    pointers[l.packed->operand] = packed;
    l.packed->run(pointers);
  } else {
    site = l.kernel->run(pointers, l.sizes, payload);
  }
  if (g_profiling) record_kernel({l.name, l.span, l.flops, l.bytes}, static_cast<uint64_t>((now() - start).count()));
  if (site >= 0) throw CheckFailure{l.node, site, payload};
}

void Executable::run_product(const ProductStep& step, const Memory& m) const {
  auto start = now();
  std::optional<RowMaker> maker;
  if (step.prologue) maker.emplace(*step.prologue, pointers(step.prologue->launch, m));
  std::optional<PartTaker> taker;
  if (step.epilogue) taker.emplace(*step.epilogue, pointers(step.epilogue->launch, m));
  auto make = [&](int64_t row, int64_t rows, bool again) { return maker->make(row, rows, again); };
  auto take = [&](const Part& part) { taker->take(part); };
  const RowsWanted wanted(make);
  const PartDone done(take);
  step.form->run(pointers(step.product, m),
                 {maker ? &wanted : nullptr, taker ? &done : nullptr, maker ? maker->made_of() : MadeOf{}});
  if (taker) taker->finish();
  if (g_profiling)
    record_kernel({step.name, step.product.span, step.product.flops, step.bytes},
                  static_cast<uint64_t>((now() - start).count()));
}

void Executable::run_step(const Step& step, const Memory& m) const {
  if (auto* launch = std::get_if<Launch>(&step)) return run_launch(*launch, m);
  run_product(std::get<ProductStep>(step), m);
}

void Executable::run_at(const Memory& m) const {
  if (g_run_steps) return g_run_steps(*this, m);
  for (const Step& step : steps) {
    if (g_stop_requested && g_stop_requested()) throw Stopped{};
    run_step(step, m);
  }
}

size_t Executable::num_launches() const {
  size_t n = 0;
  each_launch([&](const Launch&) { ++n; });
  return n;
}

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up) const {
  Ref<Buffer> scratch;
  std::byte* scratch_data = scratch_bytes ? borrow_scratch(scratch_bytes, scratch) : nullptr;
  struct Result {
    Ref<Buffer> buffer;
    int64_t offset_bytes = 0;
  };
  auto entered = now();
  BufferTime buffers;
  std::vector<Result> results;
  results.reserve(output_buffers.size());
  for (const OutputBuffer& o : output_buffers) {
    if (o.donor >= 0 && !given_up.empty() && given_up[o.donor]) {
      const Tensor& t = inputs[o.donor];
      t.buffer->will_change();
      results.push_back({t.buffer, t.offset * size_bytes(t.dtype)});
      ++buffers.hits;
    } else {
      results.push_back({Buffer::allocate(static_cast<size_t>(o.bytes)), 0});
      ++buffers.misses;
    }
  }
  if (g_profiling) {
    buffers.ns = static_cast<uint64_t>((now() - entered).count());
    record_buffers(buffers);
  }
  SmallVec<std::byte*, 16> input_data, result_data;
  for (const Tensor& t : inputs)
    input_data.push_back(t.bytes());
  for (const Result& r : results)
    result_data.push_back(r.buffer->data() + r.offset_bytes);
  run_at({input_data, result_data, scratch_data, inputs, given_up});
  std::vector<Tensor> out;
  out.reserve(outputs.size());
  for (const OutputSpec& o : outputs) {
    Tensor t;
    t.dtype = o.dtype;
    t.sizes = o.sizes;
    t.strides = o.strides;
    int64_t offset = o.place.offset;
    if (o.place.kind == Place::Output) {
      t.buffer = results[o.place.index].buffer;
      offset += results[o.place.index].offset_bytes;
    } else {
      const Tensor& source = o.place.kind == Place::Input ? inputs[o.place.index] : constants[o.place.index];
      t.buffer = source.buffer;
      offset += source.offset * size_bytes(source.dtype);
    }
    t.offset = offset / size_bytes(o.dtype);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace sheaf::runtime
