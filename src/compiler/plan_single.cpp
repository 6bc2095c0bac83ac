// Nodes with a kernel of their own.
#include <utility>

#include "compiler/pipeline.h"
#include "compiler/plan_builder.h"
#include "graph/op_def.h"
#include "kernels/gemm/gemm.h"
#include "ops/table.h"
#include "runtime/target.h"

namespace sheaf::compiler {

using graph::OpKind;

void PlanBuilder::plan_single(Node* n) {
  if (first_value_[n] >= 0) return plan_placed_concat(n);  // nothing else has memory before its turn
  if (n->op->kind == OpKind::Update && n->op->window) return plan_window(n);
  add(describe_single(n));
}

PlanBuilder::PlannedLaunch PlanBuilder::describe_single(Node* n) {
  bool updates = n->op->kind == OpKind::Update;
  std::vector<Stored> arrays;
  std::vector<lower::ArrayKey> in, out;
  std::vector<int64_t> sizes;
  for (const Operand& o : n->inputs) {
    Stored s = stored(o);
    if (n->op->kind == OpKind::Ordered && !s.is_contiguous()) s = contiguous_copy(s);
    in.push_back({s.dtype, static_cast<int>(s.sizes.size())});
    sizes.insert(sizes.end(), s.sizes.begin(), s.sizes.end());
    sizes.insert(sizes.end(), s.strides.begin(), s.strides.end());
    arrays.push_back(std::move(s));
  }
  for (size_t i = 0; i < n->types.size(); ++i) {
    Stored s = updates ? base_for_update(arrays[0]) : fresh(n->types[i]);
    keep(n, static_cast<int>(i), s);
    out.push_back({s.dtype, static_cast<int>(s.sizes.size())});
    sizes.insert(sizes.end(), s.sizes.begin(), s.sizes.end());
    arrays.push_back(std::move(s));
  }
  std::string name(n->op->name);
  for (const Stored& a : arrays)
    name += " " + shape_text(a.sizes);
  // The kernel does not read the first input of an update; its place in the list is taken by the output.
  if (updates) arrays[0] = arrays.back();
  PlannedLaunch p =
      launch_of(std::move(name), lowered_single(*n->op, n->attrs, in, out, updates), arrays, std::move(sizes), label_);
  bool product = n->op->kind == OpKind::Contract && n->inputs.size() == 2;  // attention's work depends on its mask
  if (!product) return p;
  const Stored &a = arrays[0], &b = arrays[1];
  p.launch.flops = 2 * checked_num_elems(arrays.back().sizes) * a.sizes.back();
  // The packed form gives results of its factors' dtype.
  bool is_row = a.sizes[0] == 1 && a.sizes[1] == 1 && a.strides[2] == 1 && n->types[0].dtype == b.dtype;
  if (is_enabled("repack") && is_row)
    p.launch.packed =
        kernels::packed_row_form(b.dtype, b.sizes[2], b.sizes[1], b.strides[1], b.strides[2], runtime::host_target());
  return p;
}

// The window of an array is changed where it is; its offset and strides are parameters, so all windows share a kernel.
void PlanBuilder::plan_window(Node* n) {
  Stored base = base_for_update(stored(n->inputs[0])), update = stored(n->inputs[1]), window = base;
  keep(n, 0, base);
  Tensor t;
  t.dtype = base.dtype;
  t.sizes = base.sizes;
  t.strides = base.strides;
  t = *n->op->window(t, n->attrs);
  window.offset = t.offset;
  window.sizes = t.sizes;
  window.strides = t.strides;
  if (checked_num_elems(window.sizes) == 0) return;
  lower::GroupSpec spec;
  spec.inputs = {base.dtype, update.dtype};
  spec.outputs = {base.dtype};
  spec.externals = {{0, false, {}}, {1, false, {}}};
  spec.members = {{n->op, &n->attrs, base.dtype, {-1, -2}, 0}};
  add(elementwise_launch(std::move(spec), {window, update, window}));
}

}  // namespace sheaf::compiler
