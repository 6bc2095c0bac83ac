// The parts of one plan that a device runs as graphs. A graph holds for the addresses that it was recorded with; a few
// are kept, and where a run has other addresses the one that was not used for longest is changed. Thread-safe.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "runtime/device_segment.h"
#include "support/mutex.h"

namespace sheaf::runtime {

// Steps [first, last) of a plan.
class PlanPart {
 public:
  struct Context {
    const Plan& plan;
    Device& device;
    bool can_fail, is_top, guarded;  // of the run, of the plan, and of the step that the plan is inside
  };
  PlanPart(const Context& context, size_t first, size_t last, bool is_graph)
      : first(first), last(last), context_(context), is_graph_(is_graph) {}

  const size_t first, last;

  // The steps in the form that is recorded; nullptr: they run one by one.
  const Segment* segment(size_t num_inputs);
  // Runs the graph for these addresses, which is recorded where there is none; false: the device cannot do it.
  bool submit(const Memory& m, std::byte* record, std::byte* workspace);

 private:
  struct Recorded {
    Bases bases;
    std::unique_ptr<DeviceGraph> graph;
  };
  static constexpr size_t kMaxGraphs = 4;
  bool change(Recorded& r, const Bases& bases) REQUIRES(mu_);
  bool record(Recorded& r, const Bases& bases) REQUIRES(mu_);

  const Context context_;
  Mutex mu_;
  bool is_graph_ GUARDED_BY(mu_);
  std::unique_ptr<const Segment> segment_ GUARDED_BY(mu_);
  std::list<Recorded> graphs_ GUARDED_BY(mu_);  // last used first
};

// All steps, in parts that are a graph or a single step.
std::vector<std::unique_ptr<PlanPart>> parts_of(const PlanPart::Context& context);

}  // namespace sheaf::runtime
