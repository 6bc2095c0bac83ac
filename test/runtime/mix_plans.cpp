#include "runtime/mix_plans.h"

namespace sheaf::runtime {
namespace {

constexpr int kScratch = 320, kInside = 256;
constexpr uint32_t kDivisor = 61;

Place some_scratch(Random& r) { return scratch(4 * r.below((kScratch - kBytes) / 4 + 1)); }

// The result of a run: the numbers of its outputs, or the check that failed.
using Answer = std::vector<int64_t>;
template <class Run>
Answer answer_of(Run run) {
  Answer out;
  try {
    for (const Tensor& t : run())
      out.insert(out.end(), t.data<uint32_t>(), t.data<uint32_t>() + kElements);
  } catch (const CheckFailure& f) {
    out = {f.label, f.site, f.payload};
  }
  return out;
}
bool failed(const Answer& a) { return a.size() == 3; }

}  // namespace

Plan MixPlans::random(uint64_t seed, bool nests) const {
  Random r(seed);
  Plan p;
  p.scratch_bytes = kScratch + kInside;
  auto number = [&] { return static_cast<uint32_t>(r.below(1000)); };
  for (int64_t at = 0; at < kScratch; at += kBytes)
    p.steps.push_back(mix(number(), input(r.below(kInputs)), input(r.below(kInputs)), scratch(at)));
  auto operand = [&] { return r.below(4) ? some_scratch(r) : input(r.below(kInputs)); };
  for (int i = r.below(12); i > 0; --i) {
    const Place a = operand(), b = operand(), to = some_scratch(r);
    p.steps.push_back(mix(number(), a, b, to, r.below(3) ? 0 : kDivisor));
    std::get<Launch>(p.steps.back()).label = static_cast<int>(p.steps.size());
  }
  for (int o = 0; o < kOutputs; ++o) {
    const Place a = operand(), b = operand();
    p.steps.push_back(mix(number(), a, b, output(o)));
    p.outputs.push_back({DType::U32, {kElements}, {1}, output(o)});
    p.output_buffers.push_back({kBytes, r.below(2) ? o : -1});
  }
  // Inputs that an output may have taken over are not read any more.
  auto later = [&] { return r.below(3) ? some_scratch(r) : output(r.below(kOutputs)); };
  for (int i = r.below(12); i > 0; --i) {
    if (!nests || r.below(3)) {
      const Place a = later(), b = later(), to = later();
      p.steps.push_back(mix(number(), a, b, to));
      continue;
    }
    Plan inside;
    inside.scratch_bytes = kInside;
    for (int64_t at = 0; at < kInside; at += kBytes)
      inside.steps.push_back(mix(number(), input(0), input(0), scratch(at)));
    for (int k = r.below(5); k >= 0; --k) {
      const Place a = scratch(4 * r.below(50)), to = k ? scratch(4 * r.below(50)) : output(0);
      inside.steps.push_back(mix(number(), a, input(0), to));
    }
    inside.output_buffers = {{kBytes, -1}};
    CallStep call;
    call.body = std::make_shared<const Plan>(std::move(inside));
    call.num_inputs = call.num_outputs = 1;
    call.buffers = {output(0), output(1), scratch(kScratch)};
    call.reads = {{output(0), kBytes}};
    call.writes = {{output(1), kBytes}, {scratch(kScratch), kInside}};
    p.steps.push_back(std::move(call));
  }
  return p;
}

Plan MixPlans::scan(int64_t turns, bool reverse) const {
  Plan inner;
  inner.steps = {mix(1, input(1), input(2), scratch(0)), mix(2, scratch(0), input(1), output(0)),
                 mix(3, input(2), scratch(0), output(1))};
  inner.scratch_bytes = kBytes;
  inner.output_buffers = {{kBytes, -1}, {kBytes, -1}};
  ScanStep scan;
  scan.body = std::make_shared<const Plan>(std::move(inner));
  scan.turns = turns;
  scan.reverse = reverse;
  scan.num_inputs = 2;
  scan.carries = {{kBytes}, {0}, 64};
  scan.x_bytes = scan.y_bytes = {kBytes};
  scan.buffers = {input(0), input(1), output(0), output(1), scratch(0)};
  scan.reads = {{input(0), kBytes}, {input(1), turns * kBytes}};
  scan.writes = {{output(0), kBytes}, {output(1), turns * kBytes}, {scratch(0), kInside}};
  Plan p;
  p.steps = {scan, mix(4, output(0), output(0), output(0))};
  p.scratch_bytes = kInside;
  p.outputs = {{DType::U32, {kElements}, {1}, output(0)}, {DType::U32, {turns * kElements}, {1}, output(1)}};
  p.output_buffers = {{kBytes, -1}, {turns * kBytes, -1}};
  return p;
}

int wrong_answers(const Plan& on_cpu, const Plan& plan, Device& device, uint64_t seed) {
  Random r(seed);
  const DeviceRunner runner(plan, device);
  std::vector<Tensor> kept;  // so that addresses differ between runs
  int wrong = 0;
  for (int n = 0; n < 8; ++n) {
    std::vector<Tensor> here, there, copies;
    std::vector<uint8_t> given_up;
    for (int i = 0; i < MixPlans::kInputs; ++i) {
      here.push_back(random_numbers(r));
      copies.push_back(copy_of(here.back()));
      const bool lives_there = r.below(3) > 0;
      there.push_back(lives_there ? on(device, here.back()) : here.back());
      given_up.push_back(lives_there && r.below(2));
    }
    if (r.below(3) == 0) kept.push_back(on(device, random_numbers(r)));
    const Answer expected = answer_of([&] { return CpuRunner(on_cpu).run(copies, given_up); });
    wrong += answer_of([&] { return runner.run(there, given_up); }) != expected;
    for (size_t i = 0; i < there.size() && failed(expected); ++i)
      wrong += !equal(there[i], here[i]);
  }
  return wrong;
}

Tensor random_numbers(Random& r, int64_t n) {
  Tensor t = empty_tensor(DType::U32, {n});
  for (int64_t i = 0; i < n; ++i)
    t.data_mut<uint32_t>()[i] = static_cast<uint32_t>(r.below(1 << 20));
  return t;
}

Tensor on(Device& device, const Tensor& t) {
  Tensor out = empty_tensor(device, t.dtype, t.sizes);
  device.send(t.bytes(), out.buffer->address(), t.buffer->size_bytes());
  return out;
}

bool equal(const Tensor& a, const Tensor& b) {
  const auto bytes = static_cast<size_t>(a.num_elems() * size_bytes(a.dtype));
  return a.sizes == b.sizes && (bytes == 0 || std::memcmp(a.bytes(), b.bytes(), bytes) == 0);
}

}  // namespace sheaf::runtime
