// A device beside the host: memory of its own (Space), and steps that it runs in the order in which they are submitted
// while the host goes on. Any thread may submit. Addresses are the device's: the host only hands them on.
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

// The first check that failed in a run, in memory of the device; the text of kernels declares the same
// (codegen/gpu/dialect.cpp). Kernels keep the lowest step, and in it the lowest index, whatever the order in which they
// meet failures.
struct CheckRecord {
  int32_t lock = 0, failed = 0, step = 0, site = 0;
  int64_t index = 0, payload = 0;
};
// A launch may be several kernels: the steps of launch n begin at n times this.
inline constexpr int kStepsOfLaunch = 256;
// Target::max_recomputed_ops of devices: an activation and its derivative, a normalized value.
inline constexpr int64_t kRecomputedOps = 16;

// Bytes that a launch touches of a buffer, seen from its pointer.
struct ByteRange {
  int64_t first = 0, count = 0;
};

struct DeviceLaunch {
  std::shared_ptr<const Code> code;
  SmallVec<std::byte*, 16> buffers;
  std::vector<int64_t> sizes;
  SmallVec<ByteRange, 16> ranges = {};  // of each buffer, where the device needs them
  std::byte* record = nullptr;          // the run's CheckRecord, where the launch may fail or is guarded
  int number = 0;                       // orders failed checks: that of the launch in its run
  bool guarded = false;                 // does nothing once a check has failed: it writes to memory that was given up
  std::byte* workspace = nullptr;       // in a graph, whose steps may run side by side; else the device takes some
  size_t workspace_bytes = 0;
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

// Steps that a device runs again and again, as one (Device::record).
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // From the next run on, `step` takes the place of the one of that number, which is the same but for addresses. False:
  // the device cannot do that, and the graph has to be recorded anew.
  virtual bool replace(size_t number, const DeviceStep& step) = 0;
};

class Device : public Space {
 public:
  virtual const Target& target() const = 0;
  // For people: "CUDA GPU (sm_90)".
  virtual std::string_view shown_name() const { return name(); }
  // Whether launches of this code must say which bytes they touch.
  virtual bool needs_ranges(const Code& code) const { return false; }
  virtual void submit(DeviceStep step) = 0;

  // `after`: by step, the earlier ones that it waits for; launches say where their workspace is. nullptr: this device
  // has no graphs.
  virtual std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                              const std::vector<std::vector<int>>& after) {
    return nullptr;
  }
  virtual void submit(DeviceGraph& graph) {}
  // Whether such launches can be part of a graph.
  virtual bool can_record(const Code& code, std::span<const int64_t> sizes, bool guarded) const { return false; }
  virtual size_t workspace_bytes(const DeviceLaunch& launch) const { return 0; }

  // Runs a step by itself. The nanoseconds that it took there.
  virtual uint64_t time(DeviceStep step);

  // Passes when all that was submitted before it is done.
  using Event = uint64_t;
  virtual Event mark() = 0;
  // Waits, but not longer than so; whether the event has passed.
  virtual bool wait_for(Event event, std::chrono::microseconds most) = 0;
  // Of what has passed.
  virtual void read(uint64_t from, std::byte* to, size_t bytes) const = 0;

  struct MemoryUse {
    size_t in_use = 0, peak = 0;  // bytes
  };
  virtual MemoryUse memory_use() const { return {}; }
  // No more is taken from the device; 0: as much as it has. Set before anything runs.
  virtual void set_memory_limit(size_t bytes) {}

  // Stoppable: looks at g_stop_requested while it waits, and throws Stopped.
  enum class Waiting : uint8_t { ToTheEnd, Stoppable };
  void wait(Event event, Waiting how = Waiting::ToTheEnd);
  // To the host, with one wait for all that was submitted before.
  virtual void fetch_all(std::span<const Fetch> pieces, Waiting how);

  void fetch(uint64_t from, std::byte* to, size_t bytes) final {
    const Fetch piece{reinterpret_cast<const std::byte*>(from), to, bytes};
    fetch_all({&piece, 1}, Waiting::ToTheEnd);
  }
};

// A launch by itself that may fail. Waits for it.
std::optional<CheckFailure> submit_and_check(Device& device, DeviceLaunch launch);

// The device of the program, set before anything runs; nullptr: none.
extern Device* g_device;

// Returns when that device has run all that was submitted to it; at once where there is none. Ctrl-C ends the wait with
// Stopped.
void wait_for_device();

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
// How often a plan runs before its graphs are recorded.
int plain_runs();
// Options for tests, from the environment variable of that name: words with commas. All devices know "least:1", for
// kWorthDevice, and "plain:0", for plain_runs; `own` says whether a device knows another one. Throws UserError, which
// tells what is expected, for those that nobody knows.
void set_test_options(std::string_view variable, std::string_view options, std::string_view expected,
                      const std::function<bool(std::string_view key, int64_t number)>& own);

Device* placed(bool any_input_there, int64_t elements);
// Where such an op or call runs: nullptr for the host.
inline Device* device_for(bool any_input_there, int64_t elements) {
  return g_device ? placed(any_input_there, elements) : nullptr;
}

// The device of that name: "sim", "cuda", "cuda:N". Throws UserError with the reason where there is none. The
// environment has options for tests: SHEAF_SIM those of simulated_device, SHEAF_CUDA those that all devices know.
Device& open_device(std::string_view name);

// The simulated device: memory that the host cannot follow, steps that run late, on kernels of this processor
// (device_sim.cpp). `options`: words with commas, "seed:7" of the delays, "oom:3": the third allocation fails,
// and those that all devices know. Throws UserError for others.
Device& simulated_device(std::string_view options);

}  // namespace sheaf::runtime
