// A product with its prologue and epilogue as one step: the product calls the prologue's kernel for rows that it is
// about to read and the epilogue's for tiles that it has completed.
//
// 1. Describe the prologue. It can run inside the product if it sees its arrays as matrices with the rows of the left
//    operand, and no copy must come between them; else it becomes a step of its own, before.
// 2. Describe the product.
// 3. Describe the epilogue. It can run inside if it reads the result only at the current element, and sees all arrays
//    as matrices of the result's sizes; a sum of all elements sees them as blocks. Else it becomes a step of its own,
//    after.
// 4. Add the step.
//
// Parts that could run inside do so if the back end agrees.
//
// In one step all arrays are live at once, so an epilogue may overwrite what it reads itself, but nothing that the
// product or the prologue may read later.
#include <utility>

#include "compiler/plan_builder.h"
#include "graph/op_def.h"
#include "loop/ir.h"
#include "routines/reduce/args.h"

namespace sheaf::compiler {
namespace {

using memory::Stored;

// True if a group reads a matrix, and only at the current element.
bool reads_in_place(const std::vector<Stored>& arrays, const std::vector<Layout>& layouts, const Stored& matrix) {
  bool reads = false;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].memory != matrix.memory) continue;
    if (arrays[i].offset != matrix.offset || layouts[i].strides != contiguous_strides(layouts[i].sizes)) return false;
    reads = true;
  }
  return reads && checked_num_elems(layouts[0].sizes) == checked_num_elems(matrix.sizes);
}

}  // namespace

routines::GemmArgs<> gemm_args(const Stored& a, const Stored& b, const Stored& c) {
  return {.dtype = a.dtype,
          .batch = a.sizes[0],
          .m = a.sizes[1],
          .n = b.sizes[2],
          .k = a.sizes[2],
          .a = {a.strides[0], a.strides[1], a.strides[2]},
          .b = {b.strides[0], b.strides[1], b.strides[2]},
          .result = c.dtype,
          .line = c.is_contiguous() ? b.sizes[2] : c.strides[1]};
}

// The prologue's layouts as matrices with the rows of the product's left operand, if it can compute that row by row.
std::optional<std::vector<Layout>> PlanBuilder::prologue_layouts(Described& d, const Node* product) {
  for (const Operand& o : product->inputs)
    if (!stored_without_copy(o)) return std::nullopt;
  const Stored a = stored(product->inputs[0]);
  const int64_t rows = a.sizes[1], columns = a.sizes[2];
  if (a.strides[1] != columns || a.strides[2] != 1) return std::nullopt;
  std::optional<std::vector<Layout>> layouts =
      d.spec.shape == lower::GroupSpec::Rows ? as_rows(d.layouts, d.space) : as_matrices(d.layouts, d.space, columns);
  if (!layouts || (*layouts)[0].sizes != Dims{rows, columns}) return std::nullopt;
  d.spec.rank = 2;
  if (lowered_group(backend_, d.spec).checks) return std::nullopt;
  return layouts;
}

std::optional<PlanBuilder::FusedPart> PlanBuilder::plan_prologue(const FusionGroup& prologue, const Node* product) {
  label(prologue.root());
  Described d = describe_loops(prologue);
  if (auto layouts = prologue_layouts(d, product)) return FusedPart{std::move(d), std::move(*layouts)};
  add_loops(d);
  return std::nullopt;
}

// The epilogue's layouts as matrices of the result's sizes, if it can run on any tile of them.
std::optional<std::vector<Layout>> PlanBuilder::epilogue_layouts(Described& d, const Stored& result) const {
  if (!reads_in_place(d.arrays, d.layouts, result)) return std::nullopt;
  auto layouts = as_matrices(d.layouts, d.space, result.sizes[2]);
  d.spec.rank = 2;
  if (layouts && lowered_group(backend_, d.spec).checks) return std::nullopt;
  return layouts;
}

void PlanBuilder::plan_product(const FusionGroup& group) {
  // 1.
  std::optional<FusedPart> prologue;
  if (!group.prologue.empty()) prologue = plan_prologue(group.prologue[0], group.root());
  // 2.
  label(group.root());
  ProductPlan p{describe_single(group.root()), std::move(prologue)};
  if (p.prologue && !form_of(p, nullptr, 0)) {
    add_loops(p.prologue->group);
    p.prologue.reset();
  }
  // 3. and 4.
  if (group.epilogue.empty()) return add_product(p);
  const FusionGroup& epilogue = group.epilogue[0];
  if (!reads_without_copy(epilogue)) {
    add_product(p);
    return plan(epilogue);
  }
  label(epilogue.root());
  if (epilogue.kind == FusionGroup::Map)
    plan_with_map(p, epilogue);
  else
    plan_with_sum(p, epilogue);
}

void PlanBuilder::plan_with_map(ProductPlan& p, const FusionGroup& epilogue) {
  Described d = describe_loops(epilogue);
  auto layouts = epilogue_layouts(d, p.c());
  if (!layouts || !form_of(p, &d.spec, 0)) {
    add_product(p);
    return add_loops(d);
  }
  offer_overwrites(d, [&](size_t i) { return !p.reads_later(d.arrays[i], (*layouts)[i]); });
  p.epilogue = FusedPart{std::move(d), std::move(*layouts)};
  add_product(p);
}

// A sum adds blocks of kReduceBlock elements, then their totals. A block is summed when its last row is complete, so
// the product must complete whole rows.
void PlanBuilder::plan_with_sum(ProductPlan& p, const FusionGroup& epilogue) {
  Reduction r = describe_reduction(epilogue);
  Described& d = r.group;
  const bool fits = r.layouts[0].sizes.size() == 1 && *d.spec.members.back().combine == loop::Combine::Sum &&
                    (r.out.dtype == DType::F32 || r.out.dtype == DType::F64) &&
                    reads_in_place(d.arrays, r.layouts, p.c());
  d.spec.rank = 2;
  d.spec.reduce_axis = 1;
  if (!fits || !form_of(p, &d.spec, loop::kReduceBlock) || lowered_group(backend_, d.spec).checks) {
    add_product(p);
    return plan_reduction(epilogue, std::move(r));
  }
  if (p.product.launch.packed && !p.product.launch.packed->completes_rows()) p.product.launch.packed = nullptr;
  const int64_t size = r.layouts[0].sizes[0], blocks = size / loop::kReduceBlock, rest = size % loop::kReduceBlock;
  Stored totals = storage_.fresh(r.out.dtype, {blocks + (rest > 0)});
  auto layouts_of = [&](int64_t rows, int64_t columns) {
    std::vector<Layout> by_block;
    for (const Layout& l : r.layouts)
      by_block.push_back({{rows, columns}, {loop::kReduceBlock * l.strides[0], l.strides[0]}});
    by_block.back().strides = {1, 0};
    return by_block;
  };
  d.arrays.push_back(totals);
  p.epilogue = FusedPart{d, layouts_of(blocks, loop::kReduceBlock), loop::kReduceBlock};
  add_product(p);
  if (rest > 0) {
    for (size_t i = 0; i < r.layouts.size(); ++i)
      d.arrays[i].offset += blocks * (i + 1 == r.layouts.size() ? 1 : loop::kReduceBlock * r.layouts[i].strides[0]);
    add(launch_of(d, layouts_of(1, rest)));
  }
  add(launch_of(std::string(routines::SumTotalsArgs<>::kRoutine) + " " + shape_text(totals.sizes),
                lowered_sum_of_totals(backend_, r.out.dtype), {totals, r.out}, {totals.sizes[0]}, d.label));
}

std::shared_ptr<const runtime::Code> PlanBuilder::form_of(const ProductPlan& p, const lower::GroupSpec* epilogue,
                                                          int64_t unit) const {
  if (p.a().sizes.size() > 3) return nullptr;  // a product of views
  return backend_.product({.args = gemm_args(p.a(), p.b(), p.c()),
                           .prologue = p.prologue ? &p.prologue->group.spec : nullptr,
                           .epilogue = epilogue,
                           .epilogue_unit = unit});
}

void PlanBuilder::add_product(ProductPlan& p) {
  if (!p.prologue && !p.epilogue) return add(std::move(p.product));
  runtime::ProductStep step;
  step.name = p.product.launch.name;
  step.bytes = p.product.launch.bytes;
  step.form = form_of(p, p.epilogue ? &p.epilogue->group.spec : nullptr, p.epilogue ? p.epilogue->unit : 0);
  INVARIANT(step.form, step.name << " can not run as one step");
  std::vector<StepArray> arrays;
  auto add_part = [&](const FusedPart& part) {
    PlannedLaunch l = launch_of(part.group, part.layouts);
    step.bytes += l.launch.bytes;
    arrays.insert(arrays.end(), l.arrays.begin(), l.arrays.end());
    return std::move(l.launch);
  };
  if (p.prologue) {
    const auto& [d, layouts, unit] = *p.prologue;
    step.name = ops_text(d.spec) + ", " + step.name;
    runtime::PrologueLaunch& to = step.prologue.emplace_back();
    to.launch = add_part(*p.prologue);
    for (size_t i = 0; i < layouts.size(); ++i)
      to.row_steps.push_back(layouts[i].strides[0] * size_bytes(d.arrays[i].dtype));
    for (size_t i = d.num_inputs; i < d.arrays.size(); ++i)
      if (d.arrays[i].memory == p.a().memory) to.factor = static_cast<int>(i);
    to.materialized = backend_.materializes_factors();
    if (!to.materialized) storage_.drop(p.a());
  }
  add_workspace(p.product);
  arrays.insert(arrays.end(), p.product.arrays.begin(), p.product.arrays.end());
  if (p.epilogue) {
    const auto& [d, layouts, unit] = *p.epilogue;
    step.name += ", " + ops_text(d.spec);
    runtime::EpilogueLaunch& to = step.epilogue.emplace_back();
    to.launch = add_part(*p.epilogue);
    to.columns = p.c().sizes[2];
    to.unit = unit;
    for (size_t i = 0; i < layouts.size(); ++i)
      for (int64_t stride : layouts[i].strides)
        to.steps.push_back(stride * size_bytes(d.arrays[i].dtype));
  }
  step.product = std::move(p.product.launch);
  storage_.add(std::move(step), arrays);
}

// The prologue computes its rows before the tiles that need them are complete: it does not read the same element of the
// same row again.
bool PlanBuilder::ProductPlan::reads_later(const Stored& s, const Layout& layout) const {
  if (s.memory == a().memory || s.memory == b().memory) return true;
  if (!prologue) return false;
  const Described& d = prologue->group;
  for (size_t i = 0; i < d.arrays.size(); ++i) {
    if (d.arrays[i].memory != s.memory) continue;
    const Layout& read = prologue->layouts[i];
    if (d.arrays[i].offset != s.offset || read.sizes != layout.sizes || read.strides != layout.strides) return true;
  }
  return false;
}

}  // namespace sheaf::compiler
