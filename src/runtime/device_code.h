// Code for a device whose kernels are compiled from source text. A launch of a plan becomes a DeviceProgram: a list of
// kernels and calls for given sizes.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "runtime/device.h"
#include "runtime/kernel.h"

namespace sheaf::runtime {

// A parameter of a device kernel.
struct KernelParameter {
  enum Kind : uint8_t {
    Buffer,     // pointer to the launch's buffer number `index`
    Workspace,  // pointer to scratch memory of the launch, `value` bytes from its beginning; passes data from one
                // kernel of the launch to the next
    Check,      // pointer to the run's CheckRecord
    Failed,     // pointer to CheckRecord::failed, for a kernel that does nothing once a check has failed
    Step,       // int: the step number, which orders failed checks
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
  bool in_struct = false;  // the kernel takes one struct of 64-bit fields
};

// A routine without a device implementation: runs on the host, on copies of the bytes that the launch accesses.
struct HostRoutine {
  struct Buffer {
    int index;  // of the launch
    bool written;
  };
  std::vector<Buffer> buffers;
  // Called with the copies, in the order of `buffers`. Returns the number of the check that failed, or -1.
  std::function<int(std::span<std::byte* const> buffers, int64_t& payload)> run;
};

// A routine of a device library, which submits its own kernels.
struct LibraryCall {
  std::vector<KernelParameter> parameters;  // addresses: buffers, and workspace
  std::function<void(std::span<const uint64_t> addresses, void* stream)> submit;
};

struct DeviceProgram {
  std::vector<std::variant<DeviceKernel, HostRoutine, LibraryCall>> steps;
  int64_t workspace_bytes = 0;
};

// The facts besides sizes that the kernel text of a launch depends on.
struct LaunchForm {
  bool aligned = true;   // all buffers begin at multiples of kDeviceAlignment
  bool guarded = false;  // DeviceLaunch::guarded
  friend auto operator<=>(const LaunchForm&, const LaunchForm&) = default;
};

class DeviceCode : public Code {
 public:
  // The program for these sizes; compiled on first use.
  virtual std::shared_ptr<const DeviceProgram> program(std::span<const int64_t> sizes, LaunchForm form) const = 0;
  // True if part of it runs on the host, so that launches must state which bytes they access.
  virtual bool has_host_routines() const = 0;
};

inline constexpr uint64_t kDeviceAlignment = 16;

// The program of a launch of DeviceCode.
std::shared_ptr<const DeviceProgram> program_of(const DeviceLaunch& launch);

// The parameter values of a kernel, and pointers to them as the driver expects. `number`: of the kernel in its launch.
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

// The addresses with which a library routine is called.
SmallVec<uint64_t, 4> addresses_of(const LibraryCall& call, const DeviceLaunch& launch, uint64_t workspace);

// Runs a host routine of a launch on copies of the bytes that it accesses. `read` copies bytes to the host after the
// steps that write them, `write` copies results back. Returns the number of the check that failed, or -1.
int run_on_host(const HostRoutine& routine, const DeviceLaunch& launch, int64_t& payload,
                const std::function<void(uint64_t from, std::byte* to, size_t bytes)>& read,
                const std::function<void(const std::byte* from, uint64_t to, size_t bytes)>& write);

}  // namespace sheaf::runtime
