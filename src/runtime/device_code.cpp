#include "runtime/device_code.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "support/error.h"

namespace sheaf::runtime {

std::shared_ptr<const DeviceProgram> program_of(const DeviceLaunch& l) {
  const bool aligned = std::all_of(l.buffers.begin(), l.buffers.end(), [](const std::byte* b) {
    return reinterpret_cast<uint64_t>(b) % kDeviceAlignment == 0;
  });
  return static_cast<const DeviceCode&>(*l.code).program(l.sizes, {aligned, l.guarded});
}

KernelArguments::KernelArguments(const DeviceKernel& kernel, const DeviceLaunch& l, uint64_t workspace, int number) {
  INVARIANT(number < kStepsOfLaunch, "a launch of " << number << " kernels");
  for (const KernelParameter& p : kernel.parameters) {
    int64_t value = 0;
    // A narrow value is the first four bytes of the slot.
    auto set = [&](auto x) { std::memcpy(&value, &x, sizeof x); };
    auto set_number = [&](int64_t x) { p.narrow ? set(static_cast<int>(x)) : set(x); };
    switch (p.kind) {
      case KernelParameter::Buffer: set(l.buffers[static_cast<size_t>(p.index)]); break;
      case KernelParameter::Workspace: set(workspace + p.value); break;
      case KernelParameter::Check: set(l.record); break;
      case KernelParameter::Failed: set(l.record + offsetof(CheckRecord, failed)); break;
      case KernelParameter::Step: set(l.number * kStepsOfLaunch + number); break;
      case KernelParameter::Size: set_number(l.sizes[static_cast<size_t>(p.index)]); break;
      case KernelParameter::Value: set_number(p.value); break;
    }
    values_.push_back(value);
  }
  for (int64_t& value : values_) {
    pointers_.push_back(&value);
    if (kernel.in_struct) break;
  }
}

SmallVec<uint64_t, 4> addresses_of(const LibraryCall& call, const DeviceLaunch& l, uint64_t workspace) {
  SmallVec<uint64_t, 4> out;
  for (const KernelParameter& p : call.parameters) {
    INVARIANT(p.kind == KernelParameter::Buffer || p.kind == KernelParameter::Workspace, "a library takes addresses");
    const bool is_buffer = p.kind == KernelParameter::Buffer;
    out.push_back(is_buffer ? reinterpret_cast<uint64_t>(l.buffers[static_cast<size_t>(p.index)])
                            : workspace + static_cast<uint64_t>(p.value));
  }
  return out;
}

int run_on_host(const HostRoutine& routine, const DeviceLaunch& l, int64_t& payload,
                const std::function<void(uint64_t, std::byte*, size_t)>& read,
                const std::function<void(const std::byte*, uint64_t, size_t)>& write) {
  constexpr uint64_t kAlign = 64;
  struct Copy {
    int64_t first = 0, end = 0;  // bytes from the pointer of the launch
    bool written = false;
    std::vector<std::byte> bytes;
    size_t size() const { return static_cast<size_t>(end - first); }
    std::byte* begin() { return bytes.data() + (kAlign - reinterpret_cast<uint64_t>(bytes.data()) % kAlign) % kAlign; }
  };
  // Buffers that begin at the same address share one copy: a result may alias an operand (in-place update).
  std::map<std::byte*, Copy> copies;
  for (const HostRoutine::Buffer& b : routine.buffers) {
    const ByteRange& range = l.ranges[static_cast<size_t>(b.index)];
    auto [at, fresh] = copies.try_emplace(l.buffers[static_cast<size_t>(b.index)]);
    Copy& c = at->second;
    c.first = fresh ? range.first : std::min(c.first, range.first);
    c.end = std::max(fresh ? range.first : c.end, range.first + range.count);
    c.written |= b.written;
  }
  for (auto& [at, c] : copies) {
    c.bytes.resize(c.size() + kAlign);
    read(reinterpret_cast<uint64_t>(at + c.first), c.begin(), c.size());
  }
  SmallVec<std::byte*, 16> pointers;
  for (const HostRoutine::Buffer& b : routine.buffers) {
    Copy& c = copies.at(l.buffers[static_cast<size_t>(b.index)]);
    pointers.push_back(c.begin() - c.first);
  }
  const int site = routine.run({pointers.data(), pointers.size()}, payload);
  for (auto& [at, c] : copies)
    if (site < 0 && c.written) write(c.begin(), reinterpret_cast<uint64_t>(at + c.first), c.size());
  return site;
}

}  // namespace sheaf::runtime
