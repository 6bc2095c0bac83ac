#include <utility>

#include "compiler/plan_builder.h"
#include "graph/op_def.h"
#include "ops/reduce.h"

namespace sheaf::compiler {

using graph::OpKind;

PlanBuilder::Described PlanBuilder::describe(const FusionGroup& group) {
  Described d;
  d.space = to_dims(group.space);
  d.label = label_;
  d.spec.shape = group.kind == FusionGroup::Rows  ? lower::GroupSpec::Rows
                 : group.kind == FusionGroup::Map ? lower::GroupSpec::Map
                                                  : lower::GroupSpec::Reduce;
  for (const FusionGroup::Member& m : group.members) {
    Node* n = m.node;
    bool reduces = n->op->kind == OpKind::Reduce;
    lower::GroupMember member{n->op, &n->attrs, n->types[0].dtype, {}};
    member.row = m.row;
    if (reduces) member.combine = ops::combine_of(*n->op);
    Dims user = to_dims(reduces ? n->inputs[0].sizes() : n->types[0].sizes);
    for (size_t i = 0; i < n->inputs.size(); ++i)
      member.args.push_back(m.inputs[i] >= 0 ? m.inputs[i] : -1 - external(d, n->inputs[i], user, m.row && !reduces));
    d.spec.members.push_back(std::move(member));
  }
  d.num_inputs = d.arrays.size();
  return d;
}

int PlanBuilder::external(Described& d, const Operand& o, const Dims& user, bool row_user) {
  lower::GroupInput in;
  if (!o.is_node() && o.rank() == 0) {
    in.constant = o;
  } else {
    Stored s = stored(o);
    Layout l = over_space(s.layout(), user, d.space, row_user);
    for (size_t k = 0; k < d.spec.externals.size(); ++k)
      if (int a = d.spec.externals[k].array; a >= 0 && d.arrays[a].memory == s.memory &&
                                             d.arrays[a].offset == s.offset && d.arrays[a].dtype == s.dtype &&
                                             d.layouts[a].strides == l.strides)
        return static_cast<int>(k);
    in.array = static_cast<int>(d.arrays.size());
    in.row = d.spec.shape == lower::GroupSpec::Rows && l.strides.back() == 0;
    d.spec.inputs.push_back(s.dtype);
    d.arrays.push_back(std::move(s));
    d.layouts.push_back(std::move(l));
  }
  d.spec.externals.push_back(std::move(in));
  return static_cast<int>(d.spec.externals.size()) - 1;
}

void PlanBuilder::add_output(Described& d, const FusionGroup& group, size_t member) {
  const FusionGroup::Member& m = group.members[member];
  Stored s = place_for(m.node);
  d.spec.members[member].store = static_cast<int>(d.spec.outputs.size());
  d.spec.outputs.push_back(s.dtype);
  d.layouts.push_back(over_space(s.layout(), s.sizes, d.space, m.row));
  keep(m.node, 0, s);
  d.arrays.push_back(std::move(s));
}

bool PlanBuilder::reads_without_copy(const FusionGroup& group) const {
  bool all = true;
  graph::each_read(group, [&](const Operand& o) { all = all && stored_without_copy(o).has_value(); });
  return all;
}

}  // namespace sheaf::compiler
