// Nodes with a kernel of their own.
#include <utility>

#include "compiler/pipeline.h"
#include "compiler/plan_builder.h"
#include "graph/op_def.h"
#include "ops/table.h"

namespace sheaf::compiler {

using graph::OpKind;

void PlanBuilder::plan_single(Node* n) {
  if (first_value_[n] >= 0) return plan_placed_concat(n);  // no other node gets memory before it is planned
  if (n->op->kind == OpKind::Update && n->op->window) return plan_window(n);
  add(describe_single(n));
}

PlanBuilder::PlannedLaunch PlanBuilder::describe_single(Node* n) {
  bool updates = n->op->kind == OpKind::Update;
  std::vector<Stored> arrays;
  std::vector<lower::ArrayKey> in, out;
  std::vector<int64_t> sizes;
  std::optional<std::vector<Stored>> views = product_of_views(n);
  for (size_t i = 0; i < n->inputs.size(); ++i) {
    Stored s = views ? (*views)[i] : stored(n->inputs[i]);
    if (n->op->kind == OpKind::Ordered && !s.is_contiguous()) s = contiguous_copy(s);
    in.push_back({s.dtype, static_cast<int>(s.sizes.size())});
    sizes.insert(sizes.end(), s.sizes.begin(), s.sizes.end());
    sizes.insert(sizes.end(), s.strides.begin(), s.strides.end());
    arrays.push_back(std::move(s));
  }
  const bool product =
      n->op->kind == OpKind::Contract && n->inputs.size() == 2;  // attention's work depends on its mask
  for (size_t i = 0; i < n->types.size(); ++i) {
    Stored s = updates             ? base_for_update(arrays[0])
               : product && !views ? fresh_product(n, arrays[0], arrays[1])
                                   : fresh(n->types[i]);
    keep(n, static_cast<int>(i), s);
    out.push_back({s.dtype, static_cast<int>(s.sizes.size())});
    sizes.insert(sizes.end(), s.sizes.begin(), s.sizes.end());
    if (product && !s.is_contiguous()) sizes.back() = s.strides[1];  // the leading dimension
    arrays.push_back(std::move(s));
  }
  std::string name(n->op->name);
  for (const Operand& o : n->inputs)
    name += " " + shape_text(to_dims(o.sizes()));
  for (size_t i = n->inputs.size(); i < arrays.size(); ++i)
    name += " " + shape_text(arrays[i].sizes);
  // The kernel does not read the first input of an update; the output takes its position in the list.
  if (updates) arrays[0] = arrays.back();
  PlannedLaunch p = launch_of(std::move(name), lowered_single(backend_, *n->op, n->attrs, in, out, updates), arrays,
                              std::move(sizes), label_);
  if (!product) return p;
  // The padding after the last row belongs to the array: the kernel may write there.
  if (!arrays[2].is_contiguous()) p.arrays[2].array.sizes[2] = arrays[2].strides[1];
  p.launch.flops = 2 * checked_num_elems(arrays[2].sizes) * n->inputs[0].sizes().back().value();
  if (!views) backend_.refine_product(gemm_args(arrays[0], arrays[1], arrays[2]), p.launch);
  return p;
}

// Changes the window of an array in place; its offset and strides are parameters, so all windows share a kernel.
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
