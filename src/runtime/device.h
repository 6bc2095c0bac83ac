// A device beside the host: memory of its own (Space), and steps that it runs in the order in which they are submitted
// while the host goes on. Any thread may submit. Addresses are the device's: the host only hands them on.
#pragma once
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "runtime/runner.h"
#include "runtime/target.h"
#include "support/small_vec.h"

namespace sheaf::runtime {

// What the steps of one run share. The device writes to it; the host reads it once the steps have passed.
struct DeviceRun {
  // The first check that failed. Launches that come after it do nothing: memory that was given up stays as it was, and
  // the call can be made again.
  std::optional<CheckFailure> failed;
};

// Bytes that a launch touches of a buffer, seen from its pointer.
struct ByteRange {
  int64_t first = 0, count = 0;
};

struct DeviceLaunch {
  std::shared_ptr<const Code> code;
  SmallVec<std::byte*, 16> buffers;
  std::vector<int64_t> sizes;
  int label = -1;                       // of a check that fails
  SmallVec<ByteRange, 16> ranges = {};  // of each buffer, where the device needs them
};
struct DeviceCopy {
  std::byte* to;
  const std::byte* from;
  size_t size_bytes;
};
// A number that the host knows.
struct DeviceStore {
  std::byte* to;
  int64_t number;
};
using DeviceStep = std::variant<DeviceLaunch, DeviceCopy, DeviceStore>;

class Device : public Space {
 public:
  virtual const Target& target() const = 0;
  // For people: "CUDA GPU (sm_90)".
  virtual std::string_view shown_name() const { return name(); }
  // Whether launches of this code must say which bytes they touch.
  virtual bool needs_ranges(const Code& code) const { return false; }
  virtual void submit(DeviceStep step, std::shared_ptr<DeviceRun> run) = 0;
  // Passes when all that was submitted before it is done.
  using Event = uint64_t;
  virtual Event mark() = 0;
  virtual bool passed(Event event) const = 0;
  virtual void wait(Event event) = 0;
  // Of what has passed.
  virtual void read(uint64_t from, std::byte* to, size_t bytes) const = 0;

  void fetch(uint64_t from, std::byte* to, size_t bytes) final {
    wait(mark());
    read(from, to, bytes);
  }
};

// The device of the program, set before anything runs; nullptr: none.
extern Device* g_device;

// Where a thread runs ops and compiled functions: by the rule, or all on one side.
enum class Placement : uint8_t { ByRule, Host, Device };
class PlacementScope {
 public:
  explicit PlacementScope(Placement p);
  ~PlacementScope();
  PlacementScope(const PlacementScope&) = delete;
  PlacementScope& operator=(const PlacementScope&) = delete;

 private:
  Placement before_;
};

// An op or call with as many elements in its inputs and outputs runs on the device, and one with an input that lives
// there already. Less is done before a device has been told of it.
inline constexpr int64_t kWorthDevice = 1 << 14;
void set_least_for_device(int64_t elements);  // for tests, in place of kWorthDevice

Device* placed(bool any_input_there, int64_t elements);
// Where such an op or call runs: nullptr for the host.
inline Device* device_for(bool any_input_there, int64_t elements) {
  return g_device ? placed(any_input_there, elements) : nullptr;
}

// The device of that name: "sim", "cuda", "cuda:N". Throws UserError with the reason where there is none. The
// environment has options for tests: SHEAF_SIM those of simulated_device, SHEAF_CUDA "least:N" (set_least_for_device).
Device& open_device(std::string_view name);

// The simulated device: memory that the host cannot follow, steps that run late, on kernels of this processor
// (device_sim.cpp). `options`: words with commas, "seed:7" of the delays, "oom:3": the third allocation fails,
// "least:1" (set_least_for_device). Throws UserError for others.
Device& simulated_device(std::string_view options);

}  // namespace sheaf::runtime
