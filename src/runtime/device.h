// A device: a memory space of its own (Space), and an in-order queue of steps that run asynchronously to the host. Any
// thread may submit. Addresses are device addresses: the host never dereferences them.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/run_memory.h"
#include "runtime/runner.h"
#include "runtime/target.h"
#include "support/small_vec.h"

namespace sheaf::runtime {

// The first check that failed in a run, in device memory; the source text of kernels declares the same struct
// (codegen/gpu/dialect.cpp). Kernels keep the failure with the lowest step, and in it the lowest index, in whatever
// order they detect failures.
struct CheckRecord {
  int32_t lock = 0, failed = 0, step = 0, site = 0;
  int64_t index = 0, payload = 0;
};
// A launch may consist of several kernels: the step numbers of launch n begin at n times this.
inline constexpr int kStepsOfLaunch = 256;
// Target::max_recomputed_ops for devices: enough for an activation and its derivative, or a normalized value.
inline constexpr int64_t kRecomputedOps = 16;

// The bytes of a buffer that a launch accesses, relative to the pointer of the launch.
struct ByteRange {
  int64_t first = 0, count = 0;
};

struct DeviceLaunch {
  std::shared_ptr<const Code> code;
  SmallVec<std::byte*, 16> buffers;
  std::vector<int64_t> sizes;
  SmallVec<ByteRange, 16> ranges = {};  // of each buffer, if the device needs them
  std::byte* record = nullptr;          // the run's CheckRecord, if the launch may fail or is guarded
  int number = 0;                       // of the launch in its run; orders failed checks
  bool guarded = false;                 // does nothing once a check has failed: it writes to donated memory
  std::byte* workspace = nullptr;       // set in a graph, whose steps may run concurrently; else the device allocates
  size_t workspace_bytes = 0;
};
struct DeviceCopy {
  std::byte* to;
  const std::byte* from;
  size_t size_bytes;
};
// Stores a number that is known on the host to device memory.
struct DeviceStore {
  std::byte* to;
  int64_t number;
};
using DeviceStep = std::variant<DeviceLaunch, DeviceCopy, DeviceStore>;

// Steps recorded to be submitted repeatedly as one unit (Device::record).
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // From the next run on, `step` replaces the step of that number; it must differ in addresses only. False: the device
  // cannot do that, and the graph must be recorded again.
  virtual bool replace(size_t number, const DeviceStep& step) = 0;
};

class Device : public Space {
 public:
  virtual const Target& target() const = 0;
  // For people: "CUDA GPU (sm_90)".
  virtual std::string_view shown_name() const { return name(); }
  // True if launches of this code must state which bytes they access (DeviceLaunch::ranges).
  virtual bool needs_ranges(const Code& code) const { return false; }
  virtual void submit(DeviceStep step) = 0;

  // Records a graph. `after`: for each step, the earlier steps that it depends on; launches have a workspace set.
  // nullptr: this device has no graphs.
  virtual std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                              const std::vector<std::vector<int>>& after) {
    return nullptr;
  }
  virtual void submit(DeviceGraph& graph) {}
  // True if such launches can be part of a graph.
  virtual bool can_record(const Code& code, std::span<const int64_t> sizes, bool guarded) const { return false; }
  virtual size_t workspace_bytes(const DeviceLaunch& launch) const { return 0; }

  // Runs a step by itself; returns the nanoseconds that it took on the device.
  virtual uint64_t time(DeviceStep step);

  // An event completes when all work submitted before it is done.
  using Event = uint64_t;
  virtual Event mark() = 0;
  // Waits for at most `most`; returns true if the event has completed.
  virtual bool wait_for(Event event, std::chrono::microseconds most) = 0;
  // Copies to the host; the work that writes these bytes must have completed.
  virtual void read(uint64_t from, std::byte* to, size_t bytes) const = 0;

  struct MemoryUse {
    size_t in_use = 0, peak = 0;  // bytes
  };
  virtual MemoryUse memory_use() const { return {}; }
  // Limits the memory taken from the device; 0: all that it has. Set before anything runs.
  virtual void set_memory_limit(size_t bytes) {}

  // Stoppable: polls g_stop_requested while it waits, and throws Stopped.
  enum class Waiting : uint8_t { ToTheEnd, Stoppable };
  void wait(Event event, Waiting how = Waiting::ToTheEnd);
  // Copies to the host, with a single wait for all work submitted before.
  virtual void fetch_all(std::span<const Fetch> pieces, Waiting how);

  void fetch(uint64_t from, std::byte* to, size_t bytes) final {
    const Fetch piece{reinterpret_cast<const std::byte*>(from), to, bytes};
    fetch_all({&piece, 1}, Waiting::ToTheEnd);
  }
};

// Runs a single launch that may fail, and waits for it.
std::optional<CheckFailure> submit_and_check(Device& device, DeviceLaunch launch);

// The device that the program uses, set before anything runs; nullptr: none.
extern Device* g_device;

// Returns when that device has run all work submitted to it, or at once if there is none. Ctrl-C ends the wait with
// Stopped.
void wait_for_device();

// Where a thread runs ops and compiled functions: by the rule of device_for, always on the host, or always on the
// device.
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

// An op or call with at least this many elements in its inputs and outputs runs on the device, as does one with an
// input already there. The host finishes smaller ones before a launch would start.
inline constexpr int64_t kWorthDevice = 1 << 14;
// The number of times a plan runs step by step before its graphs are recorded.
int plain_runs();
// Parses test options from the environment variable of that name: words separated by commas. All devices accept
// "least:N", which replaces kWorthDevice, and "plain:N", which sets plain_runs; `own` returns true for further options
// that a device accepts. Throws UserError, which lists the expected options, for unknown ones.
void set_test_options(std::string_view variable, std::string_view options, std::string_view expected,
                      const std::function<bool(std::string_view key, int64_t number)>& own);

Device* placed(bool any_input_there, int64_t elements);
// The device that such an op or call runs on; nullptr: the host.
inline Device* device_for(bool any_input_there, int64_t elements) {
  return g_device ? placed(any_input_there, elements) : nullptr;
}

// Opens the device of that name: "sim", "cuda", "cuda:N". Throws UserError with the reason if there is none. Reads test
// options from the environment: SHEAF_SIM for simulated_device, SHEAF_CUDA for those that all devices accept.
Device& open_device(std::string_view name);

// The simulated device (device_sim.cpp): memory that the host cannot dereference, steps that run after random delays
// with the kernels of this processor. `options`: words separated by commas: "seed:7" of the delays, "oom:3": the third
// allocation fails, and those that all devices accept. Throws UserError for others.
Device& simulated_device(std::string_view options);

}  // namespace sheaf::runtime
