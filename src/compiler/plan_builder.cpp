#include "compiler/plan_builder.h"

#include <utility>

#include "compiler/pipeline.h"
#include "graph/op_def.h"
#include "runtime/verify.h"
#include "support/phases.h"

namespace sheaf::compiler {
namespace {

using graph::OpKind;

int64_t bytes_of(const memory::Stored& s) {
  int64_t elements = 1;
  for (size_t a = 0; a < s.sizes.size(); ++a)
    if (s.strides[a] != 0) elements *= s.sizes[a];
  return elements * size_bytes(s.dtype);
}

}  // namespace

PlanBuilder::PlanBuilder(FusedGraph fused, const Backend& backend, bool owned_outputs, std::vector<Label>& labels)
    : g_(std::move(fused.graph)),
      groups_(std::move(fused.groups)),
      backend_(backend),
      owned_outputs_(owned_outputs),
      placement_(g_, is_enabled("place") ? groups_ : std::vector<FusionGroup>()),
      labels_(labels),
      storage_(plan_),
      first_value_(g_.nodes, -1) {}

runtime::Plan PlanBuilder::run() {
  if (backend_.factor_line_bytes() > 0) readers_ = readers();
  values_.reserve(g_.nodes.size());
  for (size_t i = 0; i < g_.inputs.size(); ++i) {
    const auto& t = g_.inputs[i]->types[0];
    keep(g_.inputs[i].get(), 0, storage_.input(static_cast<int>(i), t.dtype, to_dims(t.sizes)));
  }
  for (const FusionGroup& group : groups_)
    plan(group);
  for (const Operand& o : g_.outputs) {
    Stored s = stored(o);
    storage_.output(owned_outputs_ && !storage_.is_own(s) ? contiguous_copy(s) : s);
  }
  {
    Phase phase("plan");
    storage_.place({.in_place = is_enabled("in-place"),
                    .reuse_scratch = is_enabled("reuse-scratch"),
                    .alignment_bytes = backend_.target().alignment_bytes});
  }
  backend_.arrange(plan_);
  if (g_verify) runtime::verify(plan_);
  if (g_plan_listener) g_plan_listener(g_, groups_, plan_, backend_);
  return std::move(plan_);
}

void PlanBuilder::plan(const FusionGroup& group) {
  if (group.kind == FusionGroup::Product) return plan_product(group);
  Node* root = group.root();
  label(root);
  switch (group.kind) {
    case FusionGroup::Map:
    case FusionGroup::Rows: return plan_loops(group);
    case FusionGroup::Reduce: return plan_reduction(group, describe_reduction(group));
    case FusionGroup::Single:
    case FusionGroup::Product: break;
  }
  if (root->op->kind == OpKind::Control || root->op->kind == OpKind::Host) return plan_control(root);
  plan_single(root);
}

void PlanBuilder::label(const Node* n) {
  Label l{n->op, n->attrs, {}, n->span};
  l.inputs.reserve(n->inputs.size());
  for (const Operand& in : n->inputs)
    l.inputs.push_back(in.type());
  label_ = static_cast<int>(labels_.size());
  labels_.push_back(std::move(l));
}

void PlanBuilder::describe_step(runtime::StepBase& step, std::string name, const std::vector<StepArray>& arrays,
                                int label) const {
  step.name = std::move(name);
  step.label = label;
  if (label >= 0) step.span = labels_[static_cast<size_t>(label)].span;
  for (const StepArray& a : arrays)
    step.bytes += bytes_of(a.array);
  step.buffers.resize(arrays.size());
}

PlanBuilder::PlannedLaunch PlanBuilder::launch_of(std::string name, LoweredKernel kernel,
                                                  const std::vector<Stored>& arrays, std::vector<int64_t> sizes,
                                                  int label) const {
  PlannedLaunch p;
  for (const Stored& s : arrays)
    p.arrays.push_back({s, p.arrays.size() >= kernel.num_inputs});
  p.launch.checks = kernel.checks;
  describe_step(p.launch, std::move(name), p.arrays, label);
  p.launch.kernel = std::move(kernel.code);
  p.launch.sizes = std::move(sizes);
  return p;
}

PlanBuilder::PlannedLaunch PlanBuilder::launch_of(const Described& d, const std::vector<Layout>& layouts) const {
  std::vector<int64_t> sizes(layouts[0].sizes.begin(), layouts[0].sizes.end());
  for (const Layout& l : layouts)
    sizes.insert(sizes.end(), l.strides.begin(), l.strides.end());
  PlannedLaunch p = launch_of(ops_text(d.spec) + " " + shape_text(d.space), lowered_group(backend_, d.spec), d.arrays,
                              std::move(sizes), d.label);
  if (checked_num_elems(layouts[0].sizes) == 0) return p;  // the sum along an axis of no elements is written too
  for (size_t i = 0; i < layouts.size(); ++i) {
    p.arrays[i].array.sizes = layouts[i].sizes;
    p.arrays[i].array.strides = layouts[i].strides;
  }
  return p;
}

void PlanBuilder::add(PlannedLaunch l) {
  add_workspace(l);
  storage_.add(std::move(l.launch), l.arrays);
}

void PlanBuilder::add_workspace(PlannedLaunch& l) {
  const int64_t bytes = backend_.workspace_bytes(l.launch);
  if (bytes == 0) return;
  l.arrays.push_back({storage_.fresh(DType::Bool, {bytes}), true});
  l.launch.buffers.emplace_back();
}

std::string ops_text(const lower::GroupSpec& spec) {
  std::string name;
  for (const auto& m : spec.members)
    name += (name.empty() ? "" : "+") + std::string(m.op->name);
  return name.size() > 60 ? name.substr(0, 57) + "..." : name;
}

}  // namespace sheaf::compiler
