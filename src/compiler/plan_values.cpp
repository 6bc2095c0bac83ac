// Where the values of nodes live: memory of their own, a part of a concatenation, or a view of another value.
#include <utility>

#include "compiler/plan_builder.h"
#include "graph/op_def.h"
#include "ops/table.h"

namespace sheaf::compiler {
namespace {

using memory::Stored;

// The place of an input within its concatenation.
Stored part_of(Stored whole, const graph::Node* concat, size_t input) {
  auto axis = static_cast<size_t>(concat->attrs.integer("axis"));
  for (size_t i = 0; i < input; ++i)
    whole.offset += concat->inputs[i].sizes()[axis].value() * whole.strides[axis];
  whole.sizes = to_dims(concat->inputs[input].sizes());
  return whole;
}

// An array seen through a view; nothing if strides cannot express it.
std::optional<Stored> viewed(const Stored& in, const graph::Node* view) {
  Tensor t;
  t.dtype = in.dtype;
  t.sizes = in.sizes;
  t.strides = in.strides;
  t.offset = in.offset;
  auto v = view->op->view(t, view->attrs);
  if (!v) return std::nullopt;
  return Stored{in.memory, v->offset, v->sizes, v->strides, in.dtype};
}

}  // namespace

const memory::Stored& PlanBuilder::keep(const Node* n, int index, Stored s) {
  int& first = first_value_[n];
  if (first < 0) {
    first = static_cast<int>(values_.size());
    values_.resize(values_.size() + n->types.size());
  }
  return values_[static_cast<size_t>(first + index)] = std::move(s);
}

memory::Stored PlanBuilder::fresh(const graph::TensorType& t) { return storage_.fresh(t.dtype, to_dims(t.sizes)); }

graph::NodeMap<uint8_t> PlanBuilder::readers() const {
  graph::NodeMap<uint8_t> out{std::span<Node* const>(g_.nodes)};
  auto read = [&](Operand o, Reader by) {
    while (o.is_node() && o.node()->op->view)
      o = Operand(o.node()->inputs[0]);
    if (o.is_node()) out[o.node().get()] |= by;
  };
  for (const Node* n : g_.nodes) {
    if (n->op->view) continue;
    const bool is_product = n->op->kind == graph::OpKind::Contract && n->inputs.size() == 2;
    const bool whole = n->op->kind == graph::OpKind::Control || n->op->kind == graph::OpKind::Host ||
                       n->op->kind == graph::OpKind::Ordered || n->op->kind == graph::OpKind::Update;
    for (const Operand& o : n->inputs)
      read(o, is_product ? kProduct : whole ? kWhole : kOther);
  }
  for (const Operand& o : g_.outputs)
    read(o, kWhole);
  return out;
}

memory::Stored PlanBuilder::fresh_factor(const Node* n) {
  constexpr int64_t kLeastLine = 64;  // a shorter row would be padding for a good part
  const int64_t line_bytes = backend_.factor_line_bytes();
  const graph::TensorType& t = n->types[0];
  Dims sizes = to_dims(t.sizes);
  const int64_t width = size_bytes(t.dtype);
  if (line_bytes == 0 || !is_float(t.dtype) || width != 2 || sizes.size() < 2 || sizes.back() < kLeastLine ||
      readers_[n] != kProduct)
    return fresh(t);
  const int64_t line = line_bytes / width;
  sizes.back() = (sizes.back() + line - 1) / line * line;
  Stored out = storage_.fresh(t.dtype, sizes);
  out.sizes = to_dims(t.sizes);
  return out;
}

memory::Stored PlanBuilder::fresh_product(const Node* n, const Stored& a, const Stored& b) {
  const Stored plain{-1, 0, to_dims(n->types[0].sizes), contiguous_strides(to_dims(n->types[0].sizes)),
                     n->types[0].dtype};
  const int64_t line = backend_.factor_line_bytes() == 0 || (readers_[n] & kWhole) != 0
                           ? 0
                           : backend_.result_line(gemm_args(a, b, plain));
  if (line == 0) return fresh(n->types[0]);
  Stored out = storage_.fresh(plain.dtype, {plain.sizes[0], plain.sizes[1], line});
  out.sizes = plain.sizes;
  return out;
}

memory::Stored PlanBuilder::place_for(Node* n) {
  const memory::Placement::Part& part = placement_.of(n);
  if (!part.concat) return fresh_factor(n);
  Stored whole = first_value_[part.concat] < 0 ? keep(part.concat, 0, fresh(part.concat->types[0]))
                                               : stored(Operand(Ref<Node>(part.concat), 0));
  Stored s = part_of(whole, part.concat, part.input);
  // The part may have more axes of size 1 than the value, or fewer.
  Dims sizes = to_dims(n->types[0].sizes), strides(sizes.size(), 0);
  size_t from = 0;
  for (size_t a = 0; a < sizes.size(); ++a) {
    if (sizes[a] == 1) continue;
    while (s.sizes[from] == 1)
      ++from;
    strides[a] = s.strides[from++];
  }
  s.sizes = std::move(sizes);
  s.strides = std::move(strides);
  return s;
}

void PlanBuilder::plan_placed_concat(Node* n) {
  Stored whole = stored(Operand(Ref<Node>(n), 0));
  for (size_t i = 0; i < n->inputs.size(); ++i) {
    Stored part = part_of(whole, n, i);
    if (!placement_.is_placed(n, i) && checked_num_elems(part.sizes) > 0) copy(stored(n->inputs[i]), part);
  }
}

memory::Stored PlanBuilder::stored(const Operand& o) {
  if (!o.is_node()) return storage_.constant(o.value());
  Node* n = o.node().get();
  if (int first = first_value_[n]; first >= 0) return values_[static_cast<size_t>(first + o.index())];
  INVARIANT(n->op->view, "the value of " << n->op->name << " is not ready");
  Stored in = stored(n->inputs[0]);
  std::optional<Stored> out = viewed(in, n);
  if (!out) {
    // Copied in row-major order, then viewed with the new sizes.
    out = contiguous_copy(in);
    out->sizes = to_dims(n->types[0].sizes);
    out->strides = contiguous_strides(out->sizes);
  }
  return keep(n, 0, std::move(*out));
}

std::optional<memory::Stored> PlanBuilder::stored_without_copy(const Operand& o) const {
  if (!o.is_node()) return Stored{-1, 0, o.value().sizes, o.value().strides, o.value().dtype};
  const Node* n = o.node().get();
  if (int first = first_value_[n]; first >= 0) return values_[static_cast<size_t>(first + o.index())];
  std::optional<Stored> in = stored_without_copy(n->inputs[0]);
  return in ? viewed(*in, n) : std::nullopt;
}

memory::Stored PlanBuilder::contiguous_copy(const Stored& in) {
  Stored out = storage_.fresh(in.dtype, in.sizes);
  copy(in, out);
  return out;
}

std::vector<memory::Stored> PlanBuilder::contiguous_inputs(const Node* n) {
  std::vector<Stored> out;
  for (const Operand& o : n->inputs) {
    Stored s = stored(o);
    out.push_back(s.is_contiguous() ? s : contiguous_copy(s));
  }
  return out;
}

void PlanBuilder::copy(const Stored& in, const Stored& out) {
  static const graph::Attrs kNone;
  lower::GroupSpec spec;
  spec.inputs = {in.dtype};
  spec.outputs = {in.dtype};
  spec.externals = {{0, false, {}}};
  spec.members = {{&ops::op("stop_gradient"), &kNone, in.dtype, {-1}, 0}};
  PlannedLaunch l = elementwise_launch(std::move(spec), {in, out});
  l.launch.is_copy = true;
  add(std::move(l));
}

memory::Stored PlanBuilder::base_for_update(const Stored& in) {
  Stored out = storage_.fresh(in.dtype, in.sizes);
  if (checked_num_elems(in.sizes) == 0) return out;
  if (in.offset == 0 && in.is_contiguous()) storage_.may_write_over(in, out);
  copy(in, out);
  return out;
}

}  // namespace sheaf::compiler
