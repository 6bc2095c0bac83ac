#include "runtime/device.h"

#include <utility>

namespace sheaf::runtime {

Device* g_device = nullptr;

namespace {

int64_t g_least = kWorthDevice;

Placement& placement() {
  thread_local Placement p = Placement::ByRule;
  return p;
}

}  // namespace

PlacementScope::PlacementScope(Placement p) : before_(std::exchange(placement(), p)) {}
PlacementScope::~PlacementScope() { placement() = before_; }

void set_least_for_device(int64_t elements) { g_least = elements; }

Device* placed(bool any_input_there, int64_t elements) {
  switch (placement()) {
    case Placement::Host: return nullptr;
    case Placement::Device: return g_device;
    case Placement::ByRule: break;
  }
  return any_input_there || elements >= g_least ? g_device : nullptr;
}

}  // namespace sheaf::runtime
