#include "runtime/plan_graphs.h"

#include <algorithm>

namespace sheaf::runtime {
namespace {

// Recording a larger graph would take longer than it saves.
constexpr int64_t kMaxSteps = 4096;

}  // namespace

std::vector<std::unique_ptr<PlanPart>> parts_of(const PlanPart::Context& c) {
  std::vector<std::unique_ptr<PlanPart>> parts;
  const std::vector<Step>& steps = c.plan.steps;
  for (size_t first = 0; first < steps.size();) {
    int64_t count = 0;
    size_t last = first;
    for (; last < steps.size(); ++last) {
      const bool guarded = c.is_top ? c.can_fail && writes_given_up(steps[last], c.plan) : c.guarded;
      const int64_t more = num_device_steps(steps[last]);
      if (!can_be_recorded(steps[last], c.plan, guarded, c.device) || count + more > kMaxSteps) break;
      count += more;
    }
    const bool is_graph = count > 1;
    last = std::max(last, first + 1);
    parts.push_back(std::make_unique<PlanPart>(c, first, last, is_graph));
    first = last;
  }
  return parts;
}

const Segment* PlanPart::segment(size_t num_inputs) {
  MutexLock lock(mu_);
  if (!is_graph_) return nullptr;
  const auto& c = context_;
  if (!segment_)
    segment_ = std::make_unique<Segment>(c.plan, SegmentSteps{num_inputs, first, last, c.can_fail, c.is_top, c.guarded},
                                         c.device);
  return segment_.get();
}

bool PlanPart::submit(const Memory& m, std::byte* record_at, std::byte* workspace) {
  MutexLock lock(mu_);
  const Bases bases = bases_of(m, record_at, workspace);
  auto known = std::find_if(graphs_.begin(), graphs_.end(), [&](const Recorded& r) { return r.bases == bases; });
  if (known == graphs_.end()) {
    const bool is_new = graphs_.size() < kMaxGraphs;
    known = is_new ? graphs_.emplace(graphs_.begin()) : std::prev(graphs_.end());
    if ((is_new || !change(*known, bases)) && !record(*known, bases)) {
      graphs_.clear();
      is_graph_ = false;
      return false;
    }
  }
  graphs_.splice(graphs_.begin(), graphs_, known);
  context_.device.submit(*known->graph);
  return true;
}

bool PlanPart::change(Recorded& r, const Bases& bases) {
  for (size_t i = 0; i < segment_->size(); ++i)
    if (segment_->differs(i, r.bases, bases) && !r.graph->replace(i, segment_->step(i, bases))) return false;
  r.bases = bases;
  return true;
}

bool PlanPart::record(Recorded& r, const Bases& bases) {
  std::vector<DeviceStep> steps;
  for (size_t i = 0; i < segment_->size(); ++i)
    steps.push_back(segment_->step(i, bases));
  r = {bases, context_.device.record(std::move(steps), segment_->after())};
  return r.graph != nullptr;
}

}  // namespace sheaf::runtime
