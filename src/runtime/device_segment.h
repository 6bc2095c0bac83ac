// Steps of a plan that need nothing of the host between them, in a form that a device records as one: all addresses are
// known but for where the memory of a run begins. Each step says which earlier ones it waits for, by the bytes that
// they read and write; all else may run side by side or in any order.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/device_walk.h"

namespace sheaf::runtime {

// Where the memory of a run begins.
using Bases = std::vector<std::byte*>;
Bases bases_of(const Memory& m, std::byte* record, std::byte* workspace);

// Whether a step can be part of a segment: it asks the host for nothing. `guarded`: see DeviceLaunch.
bool can_be_recorded(const Step& step, const Plan& plan, bool guarded, const Device& device);
// How many steps a device sees of such a step.
int64_t num_device_steps(const Step& step);

// Which steps of a plan, and how it is run.
struct SegmentSteps {
  size_t num_inputs;   // of the plan
  size_t first, last;  // steps [first, last)
  bool can_fail;       // the run has a record
  bool is_top;         // as DeviceWalk::walk
  bool guarded;        // the step that the plan is inside
};

class Segment {
 public:
  Segment(const Plan& plan, const SegmentSteps& which, Device& device);

  // Memory that launches of a run use for themselves.
  size_t workspace_bytes() const { return workspace_bytes_; }
  // Of the launches that may fail, by number.
  const std::vector<int>& labels() const { return labels_; }

  size_t size() const { return steps_.size(); }
  const std::vector<std::vector<int>>& after() const { return after_; }
  DeviceStep step(size_t i, const Bases& bases) const;
  // Whether it is another step there.
  bool differs(size_t i, const Bases& a, const Bases& b) const;

 private:
  friend class SegmentRecorder;
  struct Part {
    DeviceStep step;
    bool is_copy = false;  // a launch that does nothing where source and destination are the same
  };
  void choose_workspaces(Device& device);

  std::vector<Part> steps_;
  std::vector<std::vector<int>> after_;
  std::vector<std::vector<uint64_t>> before_;  // by step, a bit for each earlier one that it follows in the end
  std::vector<int> labels_;
  size_t workspace_bytes_ = 0;
  Ref<Buffer> numbers_;  // that loops store
};

}  // namespace sheaf::runtime
