// A device that forwards to another one; tests override a part of it.
#pragma once
#include "runtime/device.h"

namespace sheaf::runtime {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(Device& to) : to_(to) {}
  std::string_view name() const override { return "forwarding"; }
  uint64_t take(size_t bytes) override { return to_.take(bytes); }
  void give(uint64_t address, size_t bytes) override { to_.give(address, bytes); }
  void send(const std::byte* from, uint64_t to, size_t bytes) override { to_.send(from, to, bytes); }
  void copy(const Tensor& from, const Tensor& to) override { to_.copy(from, to); }
  const Target& target() const override { return to_.target(); }
  void submit(DeviceStep step) override { to_.submit(std::move(step)); }
  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                      const std::vector<std::vector<int>>& after) override {
    return to_.record(std::move(steps), after);
  }
  void submit(DeviceGraph& graph) override { to_.submit(graph); }
  bool can_record(const Code& code, std::span<const int64_t> sizes, bool guarded) const override {
    return to_.can_record(code, sizes, guarded);
  }
  size_t workspace_bytes(const DeviceLaunch& launch) const override { return to_.workspace_bytes(launch); }
  Event mark() override { return to_.mark(); }
  bool wait_for(Event event, std::chrono::microseconds most) override { return to_.wait_for(event, most); }
  void read(uint64_t from, std::byte* to, size_t bytes) const override { to_.read(from, to, bytes); }

 protected:
  Device& to_;
};

}  // namespace sheaf::runtime
