#include "runtime/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "support/error.h"

namespace sheaf::runtime {

Device* g_device = nullptr;

namespace {

int64_t g_least = kWorthDevice;
int g_plain_runs = 1;

// The interval at which a wait polls for a stop request.
constexpr std::chrono::milliseconds kLook{2};

Placement& placement() {
  thread_local Placement p = Placement::ByRule;
  return p;
}

}  // namespace

uint64_t Device::time(DeviceStep step) {
  wait(mark());
  const auto begin = std::chrono::steady_clock::now();
  submit(std::move(step));
  wait(mark());
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
}

void Device::wait(Event event, Waiting how) {
  while (!wait_for(event, kLook))
    if (how == Waiting::Stoppable && g_stop_requested && g_stop_requested()) throw Stopped{};
}

void wait_for_device() {
  if (g_device) g_device->wait(g_device->mark(), Device::Waiting::Stoppable);
}

void Device::fetch_all(std::span<const Fetch> pieces, Waiting how) {
  wait(mark(), how);
  for (const Fetch& f : pieces)
    read(reinterpret_cast<uint64_t>(f.from), f.to, f.bytes);
}

std::optional<CheckFailure> submit_and_check(Device& device, DeviceLaunch launch) {
  CheckRecord record;
  auto* const here = reinterpret_cast<std::byte*>(&record);
  const Ref<Buffer> there = Buffer::allocate(device, sizeof record);
  device.send(here, there->address(), sizeof record);
  launch.record = reinterpret_cast<std::byte*>(there->address());
  device.submit(std::move(launch));
  device.fetch(there->address(), here, sizeof record);
  return record.failed ? std::optional(CheckFailure{-1, record.site, record.payload}) : std::nullopt;
}

PlacementScope::PlacementScope(Placement p) : before_(std::exchange(placement(), p)) {}
PlacementScope::~PlacementScope() { placement() = before_; }

int plain_runs() { return g_plain_runs; }

void set_test_options(std::string_view variable, std::string_view options, std::string_view expected,
                      const std::function<bool(std::string_view, int64_t)>& own) {
  while (!options.empty()) {
    const std::string_view word = options.substr(0, options.find(','));
    options.remove_prefix(std::min(word.size() + 1, options.size()));
    const size_t colon = word.find(':');
    int64_t number = 0;
    const char* end = word.data() + word.size();
    const bool is_number = colon != std::string_view::npos &&
                           std::from_chars(word.data() + colon + 1, end, number) == std::from_chars_result{end, {}};
    const std::string_view key = word.substr(0, colon);
    if (is_number && key == "least")
      g_least = number;
    else if (is_number && key == "plain")
      g_plain_runs = static_cast<int>(number);
    else if (!is_number || !own(key, number))
      throw runtime_error(fmt::format("{}: expected {}, got '{}'", variable, expected, word));
  }
}

Device* placed(bool any_input_there, int64_t elements) {
  switch (placement()) {
    case Placement::Host: return nullptr;
    case Placement::Device: return g_device;
    case Placement::ByRule: break;
  }
  return any_input_there || elements >= g_least ? g_device : nullptr;
}

}  // namespace sheaf::runtime
