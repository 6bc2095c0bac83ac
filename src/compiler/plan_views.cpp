// Operands of products that are not matrices in memory, such as the windows of an array: their strides need more axes
// than a matrix has, and a product that reads such views needs no copy (routines/gemm/views.h).
#include <utility>

#include "compiler/plan_builder.h"
#include "graph/op_def.h"
#include "routines/gemm/views.h"

namespace sheaf::compiler {
namespace {

using memory::Stored;

// For each axis of a value, the axes of the array that it spans.
using AxisGroups = std::vector<memory::Layout>;

// Splits the axes of `s` into the groups that form each axis of `sizes`, both in row-major order; nothing if an axis
// would be cut.
std::optional<AxisGroups> split(const Stored& s, const Dims& sizes) {
  AxisGroups out;
  size_t at = 0;
  for (int64_t n : sizes) {
    memory::Layout& group = out.emplace_back();
    for (int64_t here = 1; here < n; ++at) {
      if (at == s.sizes.size()) return std::nullopt;
      here *= s.sizes[at];
      if (s.sizes[at] == 0 || n % here != 0) return std::nullopt;
      if (s.sizes[at] == 1) continue;
      // Merges adjacent axes that one stride covers.
      if (!group.sizes.empty() && group.strides.back() == s.strides[at] * s.sizes[at]) {
        group.sizes.back() *= s.sizes[at];
        group.strides.back() = s.strides[at];
      } else {
        group.sizes.push_back(s.sizes[at]);
        group.strides.push_back(s.strides[at]);
      }
    }
  }
  return out;
}

// Permutes groups by a view that only reorders axes; nothing for other views.
std::optional<AxisGroups> reordered(const AxisGroups& groups, const Dims& sizes, const graph::Node* view) {
  Tensor t;
  t.sizes = sizes;
  t.strides = contiguous_strides(sizes);
  const std::optional<Tensor> v = view->op->view(t, view->attrs);
  if (!v || v->offset != 0 || v->sizes.size() != sizes.size()) return std::nullopt;
  AxisGroups out;
  for (size_t i = 0; i < v->sizes.size(); ++i) {
    size_t from = 0;
    while (from < sizes.size() && (sizes[from] != v->sizes[i] || (sizes[from] > 1 && t.strides[from] != v->strides[i])))
      ++from;
    if (from == sizes.size()) return std::nullopt;
    out.push_back(groups[from]);
  }
  return out;
}

// The axes of an operand in the routine's form, or nothing if there are too many.
std::optional<memory::Layout> as_operand(const AxisGroups& groups) {
  memory::Layout out{{1}, {0}};
  if (groups[0].sizes.size() > 1) return std::nullopt;
  if (!groups[0].sizes.empty()) out = groups[0];
  for (size_t g = 1; g < groups.size(); ++g) {
    const size_t axes = groups[g].sizes.size();
    if (axes > routines::kViewAxes) return std::nullopt;
    for (size_t i = 0; i < routines::kViewAxes; ++i) {
      const bool none = i + axes < routines::kViewAxes;
      out.sizes.push_back(none ? 1 : groups[g].sizes[i + axes - routines::kViewAxes]);
      out.strides.push_back(none ? 0 : groups[g].strides[i + axes - routines::kViewAxes]);
    }
  }
  return out;
}

}  // namespace

std::optional<memory::Stored> PlanBuilder::stored_as_axes(const Operand& o) {
  // The views down to the first one that strides cannot express.
  std::vector<const Node*> views;
  Operand at = o;
  for (; !stored_without_copy(at); at = at.node()->inputs[0])
    views.push_back(at.node().get());
  Stored out = stored(at);
  const auto sizes_of = [](const Node* n) { return to_dims(n->types[0].sizes); };
  std::optional<AxisGroups> groups;
  Dims sizes = to_dims(at.sizes());
  if (views.empty()) {
    groups = split(out, sizes);
  } else if (views.back()->op->arrangement == graph::Arrangement::SameOrder) {
    sizes = sizes_of(views.back());
    groups = split(out, sizes);
    views.pop_back();
  }
  for (; groups && !views.empty(); views.pop_back()) {
    groups = reordered(*groups, sizes, views.back());
    sizes = sizes_of(views.back());
  }
  std::optional<memory::Layout> axes = groups ? as_operand(*groups) : std::nullopt;
  if (!axes) return std::nullopt;
  out.sizes = std::move(axes->sizes);
  out.strides = std::move(axes->strides);
  return out;
}

std::optional<std::vector<memory::Stored>> PlanBuilder::product_of_views(const Node* n) {
  const auto is_float = [](DType d) { return d == DType::F32 || d == DType::F64; };
  if (n->op->kind != graph::OpKind::Contract || n->inputs.size() != 2 || !backend_.multiplies_views() ||
      !is_float(n->inputs[0].dtype()) || n->types[0].dtype != n->inputs[0].dtype() ||
      checked_num_elems(to_dims(n->types[0].sizes)) == 0 || stored_without_copy(n->inputs[1]))
    return std::nullopt;
  std::optional<Stored> b = stored_as_axes(n->inputs[1]), a = b ? stored_as_axes(n->inputs[0]) : std::nullopt;
  if (!a) return std::nullopt;
  return std::vector<Stored>{std::move(*a), std::move(*b)};
}

}  // namespace sheaf::compiler
