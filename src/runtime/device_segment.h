// A segment: consecutive steps of a plan that need no data on the host, in a form that a device records as one graph.
// Addresses are symbolic: a base (the memory of a run) plus an offset. Each step lists the earlier steps that it
// depends on, from the bytes that they read and write; all others may run concurrently or in any order.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/device_walk.h"

namespace sheaf::runtime {

// The base addresses of the memory of a run.
using Bases = std::vector<std::byte*>;
Bases bases_of(const Memory& m, std::byte* record, std::byte* workspace);

// True if a step can be part of a segment: it needs nothing from the host. `guarded`: see DeviceLaunch.
bool can_be_recorded(const Step& step, const Plan& plan, bool guarded, const Device& device);
// The number of device steps that such a step becomes.
int64_t num_device_steps(const Step& step);

// Selects steps of a plan, and describes how the plan is run.
struct SegmentSteps {
  size_t num_inputs;   // of the plan
  size_t first, last;  // steps [first, last)
  bool can_fail;       // the run has a record
  bool is_top;         // as DeviceWalk::walk
  bool guarded;        // the plan is nested in a guarded step
};

class Segment {
 public:
  Segment(const Plan& plan, const SegmentSteps& which, Device& device);

  // Size of the workspace that the launches of a run need.
  size_t workspace_bytes() const { return workspace_bytes_; }
  // Labels of the launches that may fail, by launch number.
  const std::vector<int>& labels() const { return labels_; }

  size_t size() const { return steps_.size(); }
  const std::vector<std::vector<int>>& after() const { return after_; }
  DeviceStep step(size_t i, const Bases& bases) const;
  // True if step i has different addresses with bases a and b.
  bool differs(size_t i, const Bases& a, const Bases& b) const;

 private:
  friend class SegmentRecorder;
  struct Part {
    DeviceStep step;
    bool is_copy = false;  // a copy launch, which does nothing if source and destination are the same
  };
  void choose_workspaces(Device& device);

  std::vector<Part> steps_;
  std::vector<std::vector<int>> after_;
  std::vector<std::vector<uint64_t>> before_;  // transitive predecessors: for each step, a bit for each earlier one
  std::vector<int> labels_;
  size_t workspace_bytes_ = 0;
  Ref<Buffer> numbers_;  // that loops store
};

}  // namespace sheaf::runtime
