// Reductions along any axes, with the elementwise nodes that make their operand.
#include <utility>

#include "compiler/plan_builder.h"
#include "graph/op_def.h"
#include "ops/reduce.h"

namespace sheaf::compiler {

PlanBuilder::Reduction PlanBuilder::describe_reduction(const FusionGroup& group) {
  Node* root = group.root();
  Dims sizes = to_dims(root->inputs[0].sizes()), space = to_dims(group.space);
  std::vector<bool> is_reduced(sizes.size(), false), reduced;
  for (Size s : root->attrs.sizes("axes"))
    is_reduced[s.value()] = true;
  for (size_t a = 0; a < sizes.size(); ++a)
    if (sizes[a] != 1) reduced.push_back(is_reduced[a]);
  Reduction r;
  r.group = describe(group);
  for (size_t m = 0; m + 1 < group.members.size(); ++m)
    if (group.members[m].stored) add_output(r.group, group, m);
  r.out = fresh(root->types[0]);
  keep(root, 0, r.out);
  r.group.spec.members.back().store = static_cast<int>(r.group.spec.outputs.size());
  r.group.spec.outputs.push_back(r.out.dtype);
  // Kept axes in order around the reduced ones: [outer…, reduced…, inner…] when those are neighbours, else moved last.
  size_t first = 0;
  while (first < space.size() && !reduced[first])
    ++first;
  size_t last = first;
  while (last < space.size() && reduced[last])
    ++last;
  bool together = true;
  for (size_t i = last; i < space.size(); ++i)
    together &= !reduced[i];
  if (together) {
    for (size_t i = 0; i < space.size(); ++i)
      r.order.push_back(static_cast<int>(i));
  } else {
    for (bool want : {false, true})
      for (size_t i = 0; i < space.size(); ++i)
        if (reduced[i] == want) r.order.push_back(static_cast<int>(i));
  }
  for (const Layout& l : r.group.layouts)
    r.layouts.push_back(permuted(l, r.order));
  // The output's strides over the space: 0 along reduced axes.
  Dims kept;
  for (int a : r.order)
    if (!reduced[a]) kept.push_back(space[a]);
  Dims kept_strides = contiguous_strides(kept);
  Layout result;
  size_t k = 0;
  for (int a : r.order) {
    result.sizes.push_back(space[a]);
    result.strides.push_back(reduced[a] ? 0 : kept_strides[k++]);
    r.reduced.push_back(reduced[a]);
  }
  r.layouts.push_back(std::move(result));
  r.axes = collapse_reduction(r.layouts, r.reduced);
  return r;
}

// Whether a group makes many elements of few, so that a copy of them would be most of the memory.
bool PlanBuilder::stretches(const Reduction& r) {
  double elements = 1, read = 0;
  for (int64_t n : r.layouts[0].sizes)
    elements *= static_cast<double>(n);
  for (size_t i = 0; i < r.group.arrays.size(); ++i) {
    double touched = 1;
    for (size_t a = 0; a < r.layouts[i].sizes.size(); ++a)
      if (r.layouts[i].strides[a] != 0) touched *= static_cast<double>(r.layouts[i].sizes[a]);
    read += touched;
  }
  return 4 * read <= elements;
}

void PlanBuilder::plan_reduction(const FusionGroup& group, Reduction r) {
  // Some array cannot walk the reduced axes as one: a contiguous copy of the elements can.
  if (r.axes.count > 1 && !stretches(r)) return plan_reduction_of_copy(group, r);
  Described& d = r.group;
  d.spec.rank = static_cast<int>(r.layouts[0].sizes.size());
  d.spec.reduce_axis = r.axes.first;
  d.spec.num_reduced = r.axes.count;
  d.arrays.push_back(r.out);
  add(launch_of(d, r.layouts));
}

void PlanBuilder::plan_reduction_of_copy(const FusionGroup& group, const Reduction& r) {
  Node* root = group.root();
  const Operand& x = root->inputs[0];
  const Dims& space = r.group.space;
  if (group.members.size() > 1) {
    FusionGroup producers = group;
    producers.kind = FusionGroup::Map;
    producers.members.pop_back();
    producers.members.back().stored = true;
    plan_loops(producers);
  }
  Stored elements = stored(x);
  Layout moved = permuted(over_space(elements.layout(), to_dims(x.sizes()), space, false), r.order);
  elements.sizes = moved.sizes;
  elements.strides = moved.strides;
  elements = contiguous_copy(elements);
  Dims parts = {1, 1, 1};
  bool seen = false;
  for (size_t i = 0; i < space.size(); ++i) {
    seen |= r.reduced[i];
    parts[r.reduced[i] ? 1 : seen ? 2 : 0] *= elements.sizes[i];
  }
  Described d;
  d.space = space;
  d.label = r.group.label;
  d.arrays = {elements, r.out};
  d.spec.inputs = {elements.dtype};
  d.spec.outputs = {r.out.dtype};
  d.spec.externals = {{0, false, {}}};
  d.spec.shape = lower::GroupSpec::Reduce;
  d.spec.members = {{root->op, &root->attrs, r.out.dtype, {-1}, 0}};
  d.spec.members[0].combine = ops::combine_of(*root->op);
  d.spec.rank = parts[2] == 1 ? 2 : 3;
  d.spec.reduce_axis = 1;
  Layout in{{parts[0], parts[1]}, {parts[1] * parts[2], parts[2]}}, to{in.sizes, {parts[2], 0}};
  if (d.spec.rank == 3) {
    for (Layout* l : {&in, &to}) {
      l->sizes.push_back(parts[2]);
      l->strides.push_back(1);
    }
  }
  add(launch_of(d, {in, to}));
}

}  // namespace sheaf::compiler
