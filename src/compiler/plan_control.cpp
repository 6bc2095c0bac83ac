// Control nodes and host calls: steps with nested plans.
#include <algorithm>
#include <utility>

#include "compiler/plan_builder.h"
#include "graph/op_def.h"

namespace sheaf::compiler {
namespace {

using graph::TensorType;

int64_t bytes_of(const TensorType& t) { return checked_num_elems(to_dims(t.sizes)) * size_bytes(t.dtype); }

int64_t scratch_of(const std::shared_ptr<const runtime::Plan>& p) {
  return p ? static_cast<int64_t>(p->scratch_bytes) : 0;
}

runtime::Room room_for(std::span<const TensorType> types, int64_t alignment) {
  runtime::Room room;
  for (const TensorType& t : types) {
    room.sizes.push_back(bytes_of(t));
    room.offsets.push_back(room.total);
    room.total += (room.sizes.back() + alignment - 1) / alignment * alignment;
  }
  return room;
}

}  // namespace

void PlanBuilder::plan_control(const Node* n) {
  using graph::Nested;
  switch (n->op->nested) {
    case Nested::HostCall: return plan_host_call(n);
    case Nested::Branch: return plan_cond(n);
    case Nested::Call: return plan_call(n);
    case Nested::Scan: return plan_scan(n);
    case Nested::While: return plan_while(n);
    case Nested::Unstack:
    case Nested::Stack: return plan_stack(n);
    case Nested::None: break;
  }
  INVARIANT(false, "no step for " << n->op->name);
}

std::shared_ptr<const runtime::Plan> PlanBuilder::nested(const graph::Graph& g) {
  bool has_code = false;
  return std::make_shared<const runtime::Plan>(plan_of(g, backend_, labels_, has_code, true));
}

// A step with nested plans can fail if they can.
template <class S>
void PlanBuilder::add_control(const Node* n, S step, int64_t scratch_bytes) {
  std::vector<StepArray> arrays;
  for (Stored& s : contiguous_inputs(n))
    arrays.push_back({std::move(s), false});
  for (size_t i = 0; i < n->types.size(); ++i) {
    arrays.push_back({fresh(n->types[i]), true});
    keep(n, static_cast<int>(i), arrays.back().array);
  }
  arrays.push_back({storage_.fresh(DType::Bool, {scratch_bytes}), true});
  describe_step(step, std::string(n->op->name), arrays, label_);
  step.checks = true;
  storage_.add(std::move(step), arrays);
}

void PlanBuilder::plan_host_call(const Node* n) {
  runtime::HostStep step;
  step.call = n->host;
  for (const Operand& in : n->inputs)
    step.arguments.push_back({in.type().dtype, to_dims(in.type().sizes)});
  add_control(n, std::move(step), 0);
}

void PlanBuilder::plan_call(const Node* n) {
  runtime::CallStep step;
  step.body = nested(*n->subgraphs[0]);
  step.num_inputs = n->inputs.size();
  step.num_outputs = n->types.size();
  const int64_t scratch = scratch_of(step.body);
  add_control(n, std::move(step), scratch);
}

void PlanBuilder::plan_cond(const Node* n) {
  runtime::CondStep step;
  step.yes = nested(*n->subgraphs[0]);
  step.no = nested(*n->subgraphs[1]);
  step.num_inputs = n->inputs.size();
  step.num_outputs = n->types.size();
  const int64_t scratch = std::max(scratch_of(step.yes), scratch_of(step.no));
  add_control(n, std::move(step), scratch);
}

void PlanBuilder::plan_scan(const Node* n) {
  runtime::ScanStep step;
  step.body = nested(*n->subgraphs[0]);
  step.turns = n->attrs.integer("turns");
  step.reverse = n->attrs.flag("reverse");
  step.num_inputs = n->inputs.size();
  const auto num_carries = static_cast<size_t>(n->attrs.integer("carries")),
             num_xs = static_cast<size_t>(n->attrs.integer("xs"));
  step.carries = room_for(std::span(n->types).first(num_carries), backend_.target().alignment_bytes);
  const int64_t rows = std::max<int64_t>(step.turns, 1);
  for (size_t i = 0; i < num_xs; ++i)
    step.x_bytes.push_back(bytes_of(n->inputs[num_carries + i].type()) / rows);
  for (size_t i = num_carries; i < n->types.size(); ++i)
    step.y_bytes.push_back(bytes_of(n->types[i]) / rows);
  const int64_t scratch = runtime::kLoopHeader + step.carries.total + scratch_of(step.body);
  add_control(n, std::move(step), scratch);
}

void PlanBuilder::plan_while(const Node* n) {
  runtime::WhileStep step;
  step.test = nested(*n->subgraphs[0]);
  step.body = nested(*n->subgraphs[1]);
  step.num_inputs = n->subgraphs[0]->inputs.size();
  std::vector<TensorType> carries;
  for (int64_t i = 0; i < n->attrs.integer("carries"); ++i)
    carries.push_back(n->inputs[static_cast<size_t>(i)].type());
  step.carries = room_for(carries, backend_.target().alignment_bytes);
  if (n->subgraphs.size() == 3) {
    step.reverse = nested(*n->subgraphs[2]);
    step.adjoints = room_for(n->types, backend_.target().alignment_bytes);
  }
  const int64_t scratch = runtime::kLoopHeader + 2 * step.carries.total + step.adjoints.total +
                          std::max({scratch_of(step.test), scratch_of(step.body), scratch_of(step.reverse)});
  add_control(n, std::move(step), scratch);
}

// Splits an array into its rows, or stacks rows into one array.
void PlanBuilder::plan_stack(const Node* n) {
  std::vector<Stored> whole = contiguous_inputs(n), rows;
  for (size_t i = 0; i < n->types.size(); ++i) {
    rows.push_back(fresh(n->types[i]));
    keep(n, static_cast<int>(i), rows.back());
  }
  const bool stacks = n->op->nested == graph::Nested::Stack;
  if (stacks) std::swap(whole, rows);
  runtime::CopyStep step;
  std::vector<StepArray> arrays;
  for (size_t i = 0; i < rows.size(); ++i) {
    Stored row = rows[i], part = whole[0];
    const int64_t elements = checked_num_elems(row.sizes);
    step.size_bytes = elements * size_bytes(row.dtype);
    part.sizes = row.sizes;
    part.strides = row.strides;
    part.offset += static_cast<int64_t>(i) * elements;
    if (stacks) std::swap(row, part);
    arrays.push_back({std::move(part), false});
    arrays.push_back({std::move(row), true});
  }
  if (step.size_bytes == 0) return;
  describe_step(step, std::string(n->op->name), arrays, label_);
  storage_.add(std::move(step), arrays);
}

}  // namespace sheaf::compiler
