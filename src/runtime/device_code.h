// Code of a device that runs kernels made of text: what a launch of a plan becomes for given sizes.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "runtime/device.h"
#include "runtime/kernel.h"

namespace sheaf::runtime {

// What a kernel of a device is called with, in order.
struct KernelParameter {
  enum Kind : uint8_t {
    Buffer,     // pointer to the launch's buffer number `index`
    Workspace,  // pointer to scratch memory of the launch, `value` bytes from its beginning; what one kernel leaves
                // there the next one reads
    Check,      // pointer to the run's CheckRecord
    Failed,     // pointer to its `failed`: of a kernel that does nothing once a check has failed
    Step,       // int: orders failed checks
    Size,       // the launch's size number `index`: long long, or int where `narrow`
    Value,      // a number of the same types
  } kind;
  int index = 0;
  bool narrow = false;
  int64_t value = 0;
};

struct DeviceKernel {
  void* function = nullptr;  // of the device's driver
  int64_t blocks = 0;        // 0: nothing to do
  int threads = 0;
  std::vector<KernelParameter> parameters;
};

// What has no form for the device runs on the host, on copies of the bytes that the launch touches.
struct HostRoutine {
  struct Buffer {
    int index;  // of the launch
    bool written;
  };
  std::vector<Buffer> buffers;
  // Takes the copies, in the order of `buffers`. The number of the check that failed, or -1.
  std::function<int(std::span<std::byte* const> buffers, int64_t& payload)> run;
};

// A routine of a library of the device, which submits kernels of its own.
struct LibraryCall {
  std::vector<KernelParameter> parameters;  // addresses: buffers, and workspace
  std::function<void(std::span<const uint64_t> addresses, void* stream)> submit;
};

struct DeviceProgram {
  std::vector<std::variant<DeviceKernel, HostRoutine, LibraryCall>> steps;
  int64_t workspace_bytes = 0;
};

// What the text of a launch depends on besides sizes.
struct LaunchForm {
  bool aligned = true;   // all buffers begin at multiples of kDeviceAlignment
  bool guarded = false;  // DeviceLaunch::guarded
  friend auto operator<=>(const LaunchForm&, const LaunchForm&) = default;
};

class DeviceCode : public Code {
 public:
  // Made when sizes are seen for the first time.
  virtual std::shared_ptr<const DeviceProgram> program(std::span<const int64_t> sizes, LaunchForm form) const = 0;
  // Whether something of it runs on the host, which needs to know the bytes that a launch touches.
  virtual bool has_host_routines() const = 0;
};

inline constexpr uint64_t kDeviceAlignment = 16;

// The program of a launch of such code.
std::shared_ptr<const DeviceProgram> program_of(const DeviceLaunch& launch);

// The values of a kernel's parameters, and pointers to them as a driver wants them. `number`: of the kernel in its
// launch.
class KernelArguments {
 public:
  KernelArguments(const DeviceKernel& kernel, const DeviceLaunch& launch, uint64_t workspace, int number);
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;
  void** pointers() { return pointers_.data(); }

 private:
  SmallVec<int64_t, 64> values_;
  SmallVec<void*, 64> pointers_;
};

// The addresses that a library's routine is called with.
SmallVec<uint64_t, 4> addresses_of(const LibraryCall& call, const DeviceLaunch& launch, uint64_t workspace);

// Runs a routine of a launch on copies of the bytes that it touches. `read` copies them here when what writes them is
// done, `write` copies back what the routine wrote. The number of the check that failed, or -1.
int run_on_host(const HostRoutine& routine, const DeviceLaunch& launch, int64_t& payload,
                const std::function<void(uint64_t from, std::byte* to, size_t bytes)>& read,
                const std::function<void(const std::byte* from, uint64_t to, size_t bytes)>& write);

}  // namespace sheaf::runtime
