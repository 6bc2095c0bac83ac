// Groups of elementwise nodes, with or without reductions along rows: one launch each.
#include <utility>

#include "compiler/pipeline.h"
#include "compiler/plan_builder.h"

namespace sheaf::compiler {

void PlanBuilder::plan_loops(const FusionGroup& group) {
  Described d = describe_loops(group);
  if (checked_num_elems(d.space) > 0) add_loops(d);
}

PlanBuilder::Described PlanBuilder::describe_loops(const FusionGroup& group) {
  Described d = describe(group);
  for (size_t m = 0; m < group.members.size(); ++m)
    if (group.members[m].stored) add_output(d, group, m);
  if (group.kind == FusionGroup::Rows && is_enabled("keep")) lower::choose_kept(d.spec);
  return d;
}

void PlanBuilder::add_loops(Described& d) {
  offer_overwrites(d, [](size_t) { return true; });
  std::vector<Layout> layouts = d.layouts;
  if (d.spec.shape == lower::GroupSpec::Rows)
    layouts = as_rows(d.layouts, d.space);
  else
    memory::collapse_axes(layouts);
  d.spec.rank = static_cast<int>(layouts[0].sizes.size());
  add(launch_of(d, layouts));
}

PlanBuilder::PlannedLaunch PlanBuilder::elementwise_launch(lower::GroupSpec spec, std::vector<Stored> arrays) const {
  Described d;
  d.space = arrays[0].sizes;
  std::vector<Layout> layouts;
  for (const Stored& s : arrays)
    layouts.push_back(s.layout());
  memory::collapse_axes(layouts);
  d.arrays = std::move(arrays);
  d.label = label_;
  d.spec = std::move(spec);
  d.spec.rank = static_cast<int>(layouts[0].sizes.size());
  return launch_of(d, layouts);
}

}  // namespace sheaf::compiler
