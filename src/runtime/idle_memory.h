// Device memory that is kept only to save time: copies of arrays that live on the host, and graphs. A device that runs
// out of memory frees them, and the operation is tried once more. Thread-safe.
#pragma once
#include <utility>

#include "support/error.h"
#include "support/source.h"
#include "tensor/space.h"

namespace sheaf::runtime {

struct OutOfDeviceMemory final : UserError {
  using UserError::UserError;
};
// `in_use`: bytes. A note names the executable with the most scratch memory.
OutOfDeviceMemory out_of_device_memory(const Space& space, size_t bytes, size_t in_use);

// Frees the idle memory of `space`; false if there was none, or if a DeviceUse is alive on any thread.
bool free_idle_memory(Space& space);

// While one is alive, copies on devices keep their addresses.
class DeviceUse {
 public:
  DeviceUse() { enter(); }
  ~DeviceUse() { leave(); }
  DeviceUse(const DeviceUse&) = delete;
  DeviceUse& operator=(const DeviceUse&) = delete;

  // Returns f(), which may take memory of `space`. If it runs out, calls f again after idle memory is freed; so f must
  // have no effects when it throws OutOfDeviceMemory.
  template <class F>
  auto with_memory(Space& space, F&& f) {
    try {
      return f();
    } catch (const OutOfDeviceMemory&) {
      leave();
      const bool freed = free_idle_memory(space);
      enter();
      if (!freed) throw;
    }
    return f();
  }

 private:
  static void enter();
  static void leave();
};

// An executable on a device, for as long as it lives.
class Executable {
 public:
  Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  virtual const Space& space() const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual Span span() const = 0;  // of one of its steps
  // Frees its graphs; false if it has none. No DeviceUse is alive.
  virtual bool drop_graphs() = 0;

 protected:
  virtual ~Executable() = default;
  // The destructor of a derived class calls this before its members go.
  void forget();
};

}  // namespace sheaf::runtime
