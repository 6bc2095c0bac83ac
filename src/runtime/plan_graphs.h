// The parts of one plan that a device runs as graphs. A graph is valid for the addresses with which it was recorded. A
// few graphs are cached; for new addresses, the least recently used one is updated. Thread-safe.
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
    bool can_fail, is_top, guarded;  // of the run, of the plan, and of the step in which the plan is nested
  };
  PlanPart(const Context& context, size_t first, size_t last, bool is_graph)
      : first(first), last(last), context_(context), is_graph_(is_graph) {}

  const size_t first, last;

  // The steps in the form that is recorded; nullptr: they run step by step.
  const Segment* segment(size_t num_inputs);
  // Runs the graph for these addresses; records it first if there is none. False: the device cannot record it.
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
  std::list<Recorded> graphs_ GUARDED_BY(mu_);  // most recently used first
};

// Divides all steps of a plan into parts, each a graph or a single step.
std::vector<std::unique_ptr<PlanPart>> parts_of(const PlanPart::Context& context);

}  // namespace sheaf::runtime
