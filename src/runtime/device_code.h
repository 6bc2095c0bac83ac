// Code of a device that runs kernels made of text: what a launch of a plan becomes for given sizes.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "runtime/kernel.h"

namespace sheaf::runtime {

// What a kernel of a device is called with, in order.
struct KernelParameter {
  enum Kind : uint8_t {
    Buffer,     // pointer to the launch's buffer number `index`
    Workspace,  // pointer to scratch memory of the launch; what one kernel leaves there the next one reads
    Check,      // pointer to a CheckRecord of the text
    Step,       // int: the number of the kernel in its launch, which orders failed checks
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

struct DeviceProgram {
  std::vector<std::variant<DeviceKernel, HostRoutine>> steps;
  int64_t workspace_bytes = 0;
  bool checks = false;  // may fail
};

class DeviceCode : public Code {
 public:
  // Made when sizes are seen for the first time. `aligned`: all buffers begin at multiples of kDeviceAlignment.
  virtual std::shared_ptr<const DeviceProgram> program(std::span<const int64_t> sizes, bool aligned) const = 0;
  // Whether something of it runs on the host, which needs to know the bytes that a launch touches.
  virtual bool has_host_routines() const = 0;
};

inline constexpr uint64_t kDeviceAlignment = 16;

}  // namespace sheaf::runtime
