#include "compiler/compile.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/block/block.h"
#include "compiler/control.h"
#include "compiler/lowered.h"
#include "compiler/pipeline.h"
#include "graph/node_map.h"
#include "graph/verify.h"
#include "memory/placement.h"
#include "memory/storage.h"
#include "ops/reduce.h"
#include "ops/table.h"
#include "passes/graph/follow_products.h"
#include "passes/graph/fuse.h"
#include "passes/graph/precede_products.h"
#include "passes/graph/recompute.h"
#include "support/phases.h"

namespace sheaf::compiler {

using graph::FusionGroup;
using memory::collapse_axes;
using memory::Layout;
using memory::Placement;
using memory::Storage;
using memory::Stored;
using memory::stretched;

std::function<void(const graph::Graph&)> g_graph_listener;
std::function<void(const loop::Kernel&)> g_kernel_listener;
std::function<void(const graph::Graph&, const std::vector<FusionGroup>&, const Compiled&)> g_compiled_listener;

namespace {

using graph::Attrs;
using graph::Node;
using graph::Operand;
using graph::OpKind;

// A graph and its kernels to be.
struct Fused {
  graph::Graph graph;
  std::vector<FusionGroup> groups;
};
Fused fused(graph::Graph g) {
  auto groups = [](const graph::Graph& g) {
    Phase phase("fuse");
    return passes::choose_groups(g, is_enabled(Pass::Fuse));
  };
  Fused out{std::move(g), {}};
  out.groups = groups(out.graph);
  if (is_enabled(Pass::Recompute)) {
    Phase phase("recompute");
    auto again = passes::recompute(out.graph, out.groups);
    if (again && g_verify) graph::verify(*again);
    // A copy that finds no room in a group would be one more kernel.
    if (again)
      if (auto chosen = groups(*again); chosen.size() <= out.groups.size())
        out = {std::move(*again), std::move(chosen)};
  }
  if (is_enabled(Pass::Follow)) {
    Phase phase("follow");
    out.groups = passes::follow_products(out.graph, std::move(out.groups));
  }
  if (is_enabled(Pass::Precede)) {
    Phase phase("precede");
    passes::precede_products(out.graph, out.groups);
  }
  return out;
}

class Compiler {
 public:
  Compiler(Fused fused, bool owned_outputs)
      : g_(std::move(fused.graph)),
        groups_(std::move(fused.groups)),
        owned_outputs_(owned_outputs),
        placement_(g_, is_enabled(Pass::Place) ? groups_ : std::vector<FusionGroup>()),
        storage_(out_.executable),
        first_value_(g_.nodes, -1) {}

  Compiled run() {
    values_.reserve(g_.nodes.size());
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      const auto& t = g_.inputs[i]->types[0];
      keep(g_.inputs[i].get(), 0, storage_.input(static_cast<int>(i), t.dtype, to_dims(t.sizes)));
    }
    for (const auto& group : groups_)
      emit(group);
    for (const Operand& o : g_.outputs) {
      Stored s = stored(o);
      storage_.output(owned_outputs_ && !storage_.is_own(s) ? contiguous_copy(s) : s);
    }
    {
      Phase phase("plan");
      storage_.place({.in_place = is_enabled(Pass::InPlace), .reuse_scratch = is_enabled(Pass::ReuseScratch)});
    }
    find_code_of_kernels();
    if (g_compiled_listener) g_compiled_listener(g_, groups_, out_);
    return std::move(out_);
  }

 private:
  void find_code_of_kernels() {
    if (code_folder().empty()) return;
    Phase phase("load");
    for (const runtime::Launch& l : out_.executable.launches)
      if (auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get())) out_.cached |= k->is_native(l.sizes);
  }

  const Stored& keep(const Node* n, int index, Stored s) {
    int& first = first_value_[n];
    if (first < 0) {
      first = static_cast<int>(values_.size());
      values_.resize(values_.size() + n->types.size());
    }
    return values_[static_cast<size_t>(first + index)] = std::move(s);
  }

  Stored fresh(const graph::TensorType& t) { return storage_.fresh(t.dtype, to_dims(t.sizes)); }

  // Memory for a value, which may be part of a concatenation that comes later.
  Stored place_for(Node* n) {
    const Placement::Part& part = placement_.of(n);
    if (!part.concat) return fresh(n->types[0]);
    Stored whole = first_value_[part.concat] < 0 ? keep(part.concat, 0, fresh(part.concat->types[0]))
                                                 : stored(Operand(Ref<Node>(part.concat), 0));
    Stored s = part_of(whole, part.concat, part.input);
    // The part may have one more axis of one element than the value.
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

  // Where an input of a concatenation lies in it.
  static Stored part_of(Stored whole, const Node* concat, size_t input) {
    auto axis = static_cast<size_t>(concat->attrs.integer("axis"));
    for (size_t i = 0; i < input; ++i)
      whole.offset += concat->inputs[i].sizes()[axis].value() * whole.strides[axis];
    whole.sizes = to_dims(concat->inputs[input].sizes());
    return whole;
  }

  // Where an operand is; views are resolved here, when first asked for.
  Stored stored(const Operand& o) {
    if (!o.is_node()) return storage_.constant(o.value());
    Node* n = o.node().get();
    if (int first = first_value_[n]; first >= 0) return values_[static_cast<size_t>(first + o.index())];
    INVARIANT(n->op->view, "the value of " << n->op->name << " is not ready");
    Stored in = stored(n->inputs[0]);
    Tensor t;
    t.dtype = in.dtype;
    t.sizes = in.sizes;
    t.strides = in.strides;
    t.offset = in.offset;
    Stored out;
    if (auto v = n->op->view(t, n->attrs)) {
      out = {in.memory, v->offset, v->sizes, v->strides, in.dtype};
    } else {
      // Strides cannot say it: copy in row-major order, then look at the copy under the new sizes.
      out = contiguous_copy(in);
      out.sizes = to_dims(n->types[0].sizes);
      out.strides = contiguous_strides(out.sizes);
    }
    return keep(n, 0, std::move(out));
  }

  Stored contiguous_copy(const Stored& in) {
    Stored out = storage_.fresh(in.dtype, in.sizes);
    copy(in, out);
    return out;
  }

  void copy(const Stored& in, const Stored& out) {
    static const Attrs kNone;
    lower::GroupSpec spec;
    spec.inputs = {in.dtype};
    spec.outputs = {in.dtype};
    spec.externals = {{0, false, {}}};
    spec.members = {{&ops::op("stop_gradient"), &kNone, in.dtype, {-1}, 0}};
    launch_map(spec, {in, out}, {in.layout(), out.layout()}, in.sizes);
    out_.executable.launches.back().is_copy = true;
  }

  void launch(std::string name, LoweredKernel kernel, const std::vector<Stored>& arrays, std::vector<int64_t> sizes) {
    runtime::Launch l;
    l.name = std::move(name);
    l.kernel = std::move(kernel.kernel);
    l.sizes = std::move(sizes);
    l.node = static_cast<int>(out_.labels.size()) - 1;
    if (!out_.labels.empty()) l.span = out_.labels.back().span;
    for (const Stored& s : arrays)
      l.bytes += bytes_of(s);
    storage_.launch(std::move(l), arrays, kernel.checks);
  }

  static int64_t bytes_of(const Stored& s) {
    int64_t elements = 1;
    for (size_t a = 0; a < s.sizes.size(); ++a)
      if (s.strides[a] != 0) elements *= s.sizes[a];
    return elements * size_bytes(s.dtype);
  }

  // Launches a group kernel whose arrays (inputs, then outputs) have these layouts over a common space.
  void launch_group(const lower::GroupSpec& spec, const std::vector<Stored>& arrays, const std::vector<Layout>& layouts,
                    const Dims& space) {
    std::vector<int64_t> sizes(layouts[0].sizes.begin(), layouts[0].sizes.end());
    for (const Layout& l : layouts)
      sizes.insert(sizes.end(), l.strides.begin(), l.strides.end());
    launch(group_name(spec, space), lowered_group(spec), arrays, std::move(sizes));
  }

  void launch_map(lower::GroupSpec& spec, const std::vector<Stored>& arrays, std::vector<Layout> layouts,
                  const Dims& space) {
    collapse_axes(layouts);
    spec.rank = static_cast<int>(layouts[0].sizes.size());
    launch_group(spec, arrays, layouts, space);
  }

  static std::string ops_text(const lower::GroupSpec& spec) {
    std::string name;
    for (const auto& m : spec.members)
      name += (name.empty() ? "" : "+") + std::string(m.op->name);
    return name.size() > 60 ? name.substr(0, 57) + "..." : name;
  }
  static std::string group_name(const lower::GroupSpec& spec, const Dims& space) {
    return ops_text(spec) + " " + shape_text(space);
  }

  void label(Node* n) {
    Label l{n->op, n->attrs, {}, n->span};
    l.inputs.reserve(n->inputs.size());
    for (const Operand& in : n->inputs)
      l.inputs.push_back(in.type());
    out_.labels.push_back(std::move(l));
  }

  void emit(const FusionGroup& group) {
    Node* root = group.root();
    label(root);
    switch (group.kind) {
      case FusionGroup::Map:
      case FusionGroup::Rows: return emit_loops(group);
      case FusionGroup::Reduce: return emit_reduce(group);
      case FusionGroup::Single:
        return root->op->kind == OpKind::Control || root->op->kind == OpKind::Host ? emit_nested(root)
                                                                                   : emit_single(root);
    }
  }

  // A group described for lowering, and its arrays with their layouts over the group's space, inputs first.
  struct Described {
    lower::GroupSpec spec;
    std::vector<Stored> arrays;
    std::vector<Layout> layouts;
  };

  // The layout of an array under the sizes of its user, over the space of the group.
  static Layout over_space(const Stored& s, const Dims& user, const Dims& space, bool row) {
    Layout at = stretched(s.layout(), user), out{space, {}};
    for (size_t a = 0; a < user.size(); ++a)
      if (user[a] != 1) out.strides.push_back(at.strides[a]);
    if (row) out.strides.push_back(0);
    return out;
  }

  // The members with everything they read; nothing is stored yet.
  Described describe(const FusionGroup& group) {
    Described d;
    Dims space = to_dims(group.space);
    bool by_row = group.kind == FusionGroup::Rows;
    d.spec.shape = by_row                           ? lower::GroupSpec::Rows
                   : group.kind == FusionGroup::Map ? lower::GroupSpec::Map
                                                    : lower::GroupSpec::Reduce;
    for (const FusionGroup::Member& m : group.members) {
      Node* n = m.node;
      bool reduces = n->op->kind == OpKind::Reduce;
      lower::GroupMember member{n->op, &n->attrs, n->types[0].dtype, {}};
      member.row = m.row;
      if (reduces) member.combine = ops::combine_of(*n->op);
      Dims user = to_dims(reduces ? n->inputs[0].sizes() : n->types[0].sizes);
      for (size_t i = 0; i < n->inputs.size(); ++i) {
        if (m.inputs[i] >= 0)
          member.args.push_back(m.inputs[i]);
        else
          member.args.push_back(-1 - external(d, n->inputs[i], user, space, by_row, m.row && !reduces));
      }
      d.spec.members.push_back(std::move(member));
    }
    return d;
  }

  int external(Described& d, const Operand& o, const Dims& user, const Dims& space, bool by_row, bool row_user) {
    lower::GroupInput in;
    if (!o.is_node() && o.rank() == 0) {
      in.constant = o;
    } else {
      Stored s = stored(o);
      Layout l = over_space(s, user, space, row_user);
      for (size_t k = 0; k < d.spec.externals.size(); ++k)
        if (int a = d.spec.externals[k].array; a >= 0 && d.arrays[a].memory == s.memory &&
                                               d.arrays[a].offset == s.offset && d.arrays[a].dtype == s.dtype &&
                                               d.layouts[a].strides == l.strides)
          return static_cast<int>(k);
      in.array = static_cast<int>(d.arrays.size());
      in.row = by_row && l.strides.back() == 0;
      d.spec.inputs.push_back(s.dtype);
      d.arrays.push_back(std::move(s));
      d.layouts.push_back(std::move(l));
    }
    d.spec.externals.push_back(std::move(in));
    return static_cast<int>(d.spec.externals.size()) - 1;
  }

  void add_output(Described& d, const FusionGroup& group, size_t member) {
    const FusionGroup::Member& m = group.members[member];
    Stored s = place_for(m.node);
    d.spec.members[member].store = static_cast<int>(d.spec.outputs.size());
    d.spec.outputs.push_back(s.dtype);
    d.layouts.push_back(over_space(s, s.sizes, to_dims(group.space), m.row));
    keep(m.node, 0, s);
    d.arrays.push_back(std::move(s));
  }

  void emit_loops(const FusionGroup& group) {
    Described d = describe(group);
    Dims space = to_dims(group.space);
    size_t num_inputs = d.arrays.size();
    for (size_t m = 0; m < group.members.size(); ++m)
      if (group.members[m].stored) add_output(d, group, m);
    if (checked_num_elems(space) == 0) return;
    if (group.kind == FusionGroup::Map) {
      offer_overwrites(d, num_inputs);
      if (group.behind && launch_map_by_parts(d, space)) return;
      if (group.before)
        if (auto matrices = as_matrices(d.layouts, space, group.before)) {
          d.spec.rank = 2;
          return launch_in_front(group, d, *matrices, num_inputs);
        }
      launch_map(d.spec, d.arrays, d.layouts, space);
      return;
    }
    if (is_enabled(Pass::Keep)) lower::choose_kept(d.spec);
    offer_overwrites(d, num_inputs);
    // The row stays an axis of its own; the first axis is shared out between threads.
    std::vector<Layout> rows = d.layouts;
    for (Layout& l : rows)
      l.sizes.resize(space.size() - 1), l.strides.resize(space.size() - 1);
    collapse_axes(rows);
    size_t outer = rows[0].sizes.size(), widest = 0;
    constexpr int64_t kEnough = 16;
    for (size_t a = 1; a < outer && rows[0].sizes[widest] < kEnough; ++a)
      if (rows[0].sizes[a] > rows[0].sizes[widest]) widest = a;
    for (size_t i = 0; i < rows.size(); ++i) {
      std::swap(rows[i].sizes[0], rows[i].sizes[widest]);
      std::swap(rows[i].strides[0], rows[i].strides[widest]);
      rows[i].sizes.push_back(space.back());
      rows[i].strides.push_back(d.layouts[i].strides.back());
    }
    d.spec.rank = static_cast<int>(outer) + 1;
    if (outer == 1 && group.before == space.back())
      launch_in_front(group, d, rows, num_inputs);
    else
      launch_group(d.spec, d.arrays, rows, space);
  }

  // Layouts of a space that is rows of so many columns, as such; nothing if they are not.
  static std::optional<std::vector<Layout>> as_matrices(const std::vector<Layout>& layouts, const Dims& space,
                                                        int64_t wanted) {
    size_t rows = 0;
    int64_t columns = checked_num_elems(space);
    while (rows < space.size() && columns > wanted)
      columns /= space[rows++];
    if (columns != wanted) return std::nullopt;
    std::vector<Layout> down, across;
    for (const Layout& l : layouts) {
      down.push_back(
          {Dims(l.sizes.begin(), l.sizes.begin() + rows), Dims(l.strides.begin(), l.strides.begin() + rows)});
      across.push_back({Dims(l.sizes.begin() + rows, l.sizes.end()), Dims(l.strides.begin() + rows, l.strides.end())});
    }
    collapse_axes(down);
    collapse_axes(across);
    if (down[0].sizes.size() != 1 || across[0].sizes.size() != 1) return std::nullopt;
    for (size_t i = 0; i < down.size(); ++i) {
      down[i].sizes.push_back(across[i].sizes[0]);
      down[i].strides.push_back(across[i].strides[0]);
    }
    return down;
  }

  // Launches a group of rows that may go with the product behind it.
  void launch_in_front(const FusionGroup& group, const Described& d, const std::vector<Layout>& layouts,
                       size_t num_inputs) {
    LoweredKernel kernel = lowered_group(d.spec);
    launch_group(d.spec, d.arrays, layouts, to_dims(group.space));
    if (kernel.checks) return;
    front_ = {static_cast<int>(out_.executable.launches.size()) - 1, d.arrays, num_inputs, ops_text(d.spec), {}};
    for (size_t i = 0; i < layouts.size(); ++i)
      front_.how.steps.push_back(layouts[i].strides[0] * size_bytes(d.arrays[i].dtype));
  }

  // The product that was launched last goes with the launch before it, if that makes its first factor and nothing else
  // that it reads.
  void join_front() {
    const Stored &a = product_.arrays[0], &b = product_.arrays[1];
    if (front_.launch < 0 || front_.launch + 1 != product_.launch) return;
    int factor = -1;
    for (size_t i = front_.num_inputs; i < front_.arrays.size(); ++i) {
      const Stored& s = front_.arrays[i];
      if (s.memory == b.memory) return;
      if (s.memory == a.memory && s.offset == a.offset && s.dtype == a.dtype &&
          front_.how.steps[i] == a.sizes[2] * size_bytes(a.dtype))
        factor = static_cast<int>(i);
    }
    if (factor < 0 || a.strides[2] != 1 || a.strides[1] != a.sizes[2]) return;
    runtime::Launch &front = out_.executable.launches[front_.launch],
                    &product = out_.executable.launches[product_.launch];
    if (front.sizes[0] != a.sizes[1] || front.sizes[1] != a.sizes[2]) return;
    front_.how.factor = factor;
    front_.how.stays =
        runtime::g_run_launches != nullptr;  // who runs launches one by one looks at what each has written
    front.by_rows = front_.how;
    product.partwise = codegen::partwise_product(product_.args);
    product.bytes += front.bytes;
    product.name = front_.name + ", " + product.name;
    storage_.hold(front_.arrays);
    if (!front.by_rows->stays) storage_.drop(a);
  }

  // Whether a group with these layouts may run on parts of the product that was launched last: it reads the result
  // nowhere but at the element at hand.
  bool may_take_parts(const Described& d, const std::vector<Layout>& layouts) const {
    if (product_.launch < 0 || product_.launch + 1 != std::ssize(out_.executable.launches)) return false;
    const Stored& result = product_.arrays.back();
    const bool made_beside =
        out_.executable.launches.back().partwise != nullptr;  // by the launch in front of the product, row by row
    bool reads = false;
    for (size_t i = 0; i < d.arrays.size(); ++i) {
      for (size_t k = front_.num_inputs; made_beside && k < front_.arrays.size(); ++k)
        if (d.arrays[i].memory == front_.arrays[k].memory) return false;
      if (d.arrays[i].memory != result.memory) continue;
      if (d.arrays[i].offset != result.offset || layouts[i].strides != contiguous_strides(layouts[i].sizes))
        return false;
      reads = true;
    }
    return reads && checked_num_elems(layouts[0].sizes) == checked_num_elems(result.sizes);
  }

  // Launches a group of two axes on parts of the product that was launched last.
  void launch_by_parts(const Described& d, const std::vector<Layout>& layouts, const Dims& space, int64_t unit) {
    launch_group(d.spec, d.arrays, layouts, space);
    runtime::Launch &product = out_.executable.launches[product_.launch], &behind = out_.executable.launches.back();
    product.bytes += behind.bytes;
    product.partwise = codegen::partwise_product(product_.args);
    product.name += ", " + ops_text(d.spec);
    behind.by_parts = {{}, product_.arrays.back().sizes[2], unit};
    for (size_t i = 0; i < layouts.size(); ++i)
      for (int64_t stride : layouts[i].strides)
        behind.by_parts->steps.push_back(stride * size_bytes(d.arrays[i].dtype));
    storage_.hold({product_.arrays[0], product_.arrays[1]});
  }

  // A map whose arrays all have the rows and columns of the product; false if they do not.
  bool launch_map_by_parts(Described& d, const Dims& space) {
    if (!may_take_parts(d, d.layouts)) return false;
    auto matrices = as_matrices(d.layouts, space, product_.arrays.back().sizes[2]);
    if (!matrices) return false;
    int rank = std::exchange(d.spec.rank, 2);
    if (lowered_group(d.spec).checks) {
      d.spec.rank = rank;
      return false;
    }
    launch_by_parts(d, *matrices, space, 0);
    return true;
  }

  // A sum of all elements, whose blocks are added up as rows of the product are complete; false where no whole rows
  // are.
  bool launch_sum_by_parts(Described& d, const std::vector<Layout>& layouts, const Stored& out, const Dims& space) {
    if (layouts[0].sizes.size() != 1 || *d.spec.members.back().combine != loop::Combine::Sum ||
        (out.dtype != DType::F32 && out.dtype != DType::F64))
      return false;
    if (!may_take_parts(d, layouts) || !codegen::partwise_product(product_.args)->by_rows()) return false;
    const int64_t size = layouts[0].sizes[0], blocks = size / loop::kReduceBlock, rest = size % loop::kReduceBlock;
    Stored totals = storage_.fresh(out.dtype, {blocks + (rest > 0)});
    auto layouts_of = [&](int64_t rows, int64_t columns) {
      std::vector<Layout> by_block;
      for (const Layout& l : layouts)
        by_block.push_back({{rows, columns}, {loop::kReduceBlock * l.strides[0], l.strides[0]}});
      by_block.back().strides = {1, 0};
      return by_block;
    };
    d.spec.rank = 2;
    d.spec.reduce_axis = 1;
    d.arrays.push_back(totals);
    launch_by_parts(d, layouts_of(blocks, loop::kReduceBlock), space, loop::kReduceBlock);
    if (rest > 0) {
      for (size_t i = 0; i < layouts.size(); ++i)
        d.arrays[i].offset += blocks * (i + 1 == layouts.size() ? 1 : loop::kReduceBlock * layouts[i].strides[0]);
      launch_group(d.spec, d.arrays, layouts_of(1, rest), space);
    }
    launch("sum_totals " + shape_text(totals.sizes), lowered_sum_of_totals(out.dtype), {totals, out},
           {totals.sizes[0]});
    return true;
  }

  // Tells which inputs have the layout of which outputs, and are read nowhere else.
  void offer_overwrites(const Described& d, size_t num_inputs) {
    for (size_t o = num_inputs; o < d.arrays.size(); ++o) {
      bool held = false;  // the output holds other values for a while
      for (const auto& m : d.spec.members)
        held |= m.kept_in == static_cast<int>(o - num_inputs);
      for (size_t i = 0; i < num_inputs && !held; ++i) {
        const Stored& in = d.arrays[i];
        bool same = in.offset == 0 && d.layouts[i].strides == d.layouts[o].strides &&
                    size_bytes(in.dtype) == size_bytes(d.arrays[o].dtype);
        for (size_t k = 0; k < num_inputs; ++k)
          same &= k == i || d.arrays[k].memory != in.memory;
        // Other parts of a concatenation may be there already.
        if (same && storage_.is_own(d.arrays[o])) storage_.may_write_over(in, d.arrays[o]);
      }
    }
  }

  void emit_reduce(const FusionGroup& group) {
    Node* root = group.root();
    Dims sizes = to_dims(root->inputs[0].sizes()), space = to_dims(group.space);
    std::vector<bool> is_reduced(sizes.size(), false), reduced;
    for (Size s : root->attrs.sizes("axes"))
      is_reduced[s.value()] = true;
    for (size_t a = 0; a < sizes.size(); ++a)
      if (sizes[a] != 1) reduced.push_back(is_reduced[a]);
    Described d = describe(group);
    Stored out = fresh(root->types[0]);
    keep(root, 0, out);
    d.spec.outputs = {out.dtype};
    d.spec.members.back().store = 0;
    // Kept axes in order around the reduced ones: [outer…, reduced…, inner…] when those are neighbours, else moved
    // last.
    std::vector<int> order;
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
        order.push_back(static_cast<int>(i));
    } else {
      for (bool want : {false, true})
        for (size_t i = 0; i < space.size(); ++i)
          if (reduced[i] == want) order.push_back(static_cast<int>(i));
    }
    std::vector<Layout> layouts;
    for (const Layout& l : d.layouts)
      layouts.push_back(permuted(l, order));
    // The output's strides over the space: 0 along reduced axes.
    Layout result{Dims(), Dims()};
    Dims kept;
    for (int a : order)
      if (!reduced[a]) kept.push_back(space[a]);
    Dims kept_strides = contiguous_strides(kept);
    size_t k = 0;
    for (int a : order) {
      result.sizes.push_back(space[a]);
      result.strides.push_back(reduced[a] ? 0 : kept_strides[k++]);
    }
    layouts.push_back(result);
    std::vector<bool> reduced_in_order;
    for (int a : order)
      reduced_in_order.push_back(reduced[a]);
    int axis = collapse_reduction(layouts, reduced_in_order);
    if (axis < 0) {
      // Some array cannot walk the reduced axes as one: reduce a contiguous copy of the elements instead.
      return emit_reduce_of_copy(group, space, order, reduced_in_order, out);
    }
    if (group.behind && launch_sum_by_parts(d, layouts, out, space)) return;
    d.spec.rank = static_cast<int>(layouts[0].sizes.size());
    d.spec.reduce_axis = axis;
    d.arrays.push_back(out);
    launch_group(d.spec, d.arrays, layouts, space);
  }

  void emit_reduce_of_copy(const FusionGroup& group, const Dims& space, const std::vector<int>& order,
                           const std::vector<bool>& reduced, const Stored& out) {
    Node* root = group.root();
    const Operand& x = root->inputs[0];
    if (group.members.size() > 1) {
      FusionGroup producers = group;
      producers.kind = FusionGroup::Map;
      producers.members.pop_back();
      producers.members.back().stored = true;
      emit_loops(producers);
    }
    Stored elements = stored(x);
    Layout moved = permuted(over_space(elements, to_dims(x.sizes()), space, false), order);
    elements.sizes = moved.sizes;
    elements.strides = moved.strides;
    elements = contiguous_copy(elements);
    Dims parts = {1, 1, 1};
    bool seen = false;
    for (size_t i = 0; i < space.size(); ++i) {
      seen |= reduced[i];
      parts[reduced[i] ? 1 : seen ? 2 : 0] *= elements.sizes[i];
    }
    lower::GroupSpec spec;
    spec.inputs = {elements.dtype};
    spec.outputs = {out.dtype};
    spec.externals = {{0, false, {}}};
    spec.shape = lower::GroupSpec::Reduce;
    spec.members = {{root->op, &root->attrs, out.dtype, {-1}, 0}};
    spec.members[0].combine = ops::combine_of(*root->op);
    spec.rank = parts[2] == 1 ? 2 : 3;
    spec.reduce_axis = 1;
    Dims lengths = {parts[0], parts[1]}, in = {parts[1] * parts[2], parts[2]}, to = {parts[2], 0};
    if (spec.rank == 3) {
      lengths.push_back(parts[2]);
      in.push_back(1);
      to.push_back(1);
    }
    std::vector<int64_t> sizes;
    for (const Dims* part : {&lengths, &in, &to})
      sizes.insert(sizes.end(), part->begin(), part->end());
    launch(group_name(spec, space), lowered_group(spec), {elements, out}, std::move(sizes));
  }

  static Layout permuted(const Layout& l, const std::vector<int>& order) {
    Layout out;
    for (int a : order) {
      out.sizes.push_back(l.sizes[a]);
      out.strides.push_back(l.strides[a]);
    }
    return out;
  }

  // Merges axes of the same sort (kept or reduced) where every array allows it; the position of the one reduced axis,
  // or -1 when it stays in pieces.
  static int collapse_reduction(std::vector<Layout>& arrays, std::vector<bool> reduced) {
    collapse_axes(arrays, &reduced);
    auto pieces = std::count(reduced.begin(), reduced.end(), true);
    if (pieces > 1) return -1;
    if (pieces == 1) return static_cast<int>(std::find(reduced.begin(), reduced.end(), true) - reduced.begin());
    // Only axes of size 1 are reduced: one turn.
    for (Layout& t : arrays) {
      t.sizes.push_back(1);
      t.strides.push_back(0);
    }
    return static_cast<int>(reduced.size());
  }

  // The window of an array is changed where it is; its offset and strides are parameters, so all windows share a
  // kernel.
  void emit_window(Node* n) {
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
    launch_map(spec, {window, update, window}, {window.layout(), update.layout(), window.layout()}, window.sizes);
  }

  // The kernels of its inputs have written their parts: copies what is left.
  void emit_placed_concat(Node* n) {
    Stored whole = stored(Operand(Ref<Node>(n), 0));
    for (size_t i = 0; i < n->inputs.size(); ++i) {
      Stored part = part_of(whole, n, i);
      if (!placement_.is_placed(n, i) && checked_num_elems(part.sizes) > 0) copy(stored(n->inputs[i]), part);
    }
  }

  void emit_single(Node* n) {
    if (first_value_[n] >= 0) return emit_placed_concat(n);  // nothing else has memory before its turn
    bool updates = n->op->kind == OpKind::Update;
    if (updates && n->op->window) return emit_window(n);
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
    launch(std::move(name), lowered_single(*n->op, n->attrs, in, out, updates), arrays, std::move(sizes));
    bool product = n->op->kind == OpKind::Contract && n->inputs.size() == 2;  // attention's work depends on its mask
    if (!product) return;
    runtime::Launch& l = out_.executable.launches.back();
    l.flops = 2 * checked_num_elems(arrays.back().sizes) * arrays[0].sizes.back();
    const Stored &a = arrays[0], &b = arrays[1];
    if ((n->op == &ops::op("dot") || n->op == &ops::op("wide_dot")) && a.sizes[0] == 1 && is_float(a.dtype))
      product_ = {static_cast<int>(out_.executable.launches.size()) - 1,
                  arrays,
                  {static_cast<int64_t>(a.dtype), 1, a.sizes[1], b.sizes[2], a.sizes[2], a.strides[0], a.strides[1],
                   a.strides[2], b.strides[0], b.strides[1], b.strides[2], static_cast<int64_t>(arrays[2].dtype)}};
    join_front();
    if (is_enabled(Pass::Repack) && n->op == &ops::op("dot") && a.sizes[0] == 1 && a.sizes[1] == 1 && a.strides[2] == 1)
      l.packed = codegen::packed_row_form(b.dtype, b.sizes[2], b.sizes[1], b.strides[1], b.strides[2]);
  }

  // A copy of an array that is about to be changed; it needs no work where the array itself can be given up.
  Stored base_for_update(const Stored& in) {
    Stored out = storage_.fresh(in.dtype, in.sizes);
    if (checked_num_elems(in.sizes) == 0) return out;
    if (in.offset == 0 && in.is_contiguous()) storage_.may_write_over(in, out);
    copy(in, out);
    return out;
  }

  // A control node or host call is one launch: its kernel runs what is inside, which may fail.
  void emit_nested(Node* n) {
    NestedKernel nested = nested_kernel(*n);
    std::vector<Stored> arrays;
    for (const Operand& o : n->inputs) {
      Stored s = stored(o);
      arrays.push_back(s.is_contiguous() ? s : contiguous_copy(s));
    }
    for (size_t i = 0; i < n->types.size(); ++i) {
      arrays.push_back(fresh(n->types[i]));
      keep(n, static_cast<int>(i), arrays.back());
    }
    arrays.push_back(storage_.fresh(DType::Bool, {nested.scratch_bytes}));
    launch(std::string(n->op->name), {std::move(nested.kernel), true}, arrays, {});
  }

  // The last product that could be taken part by part.
  struct Product {
    int launch = -1;
    std::vector<Stored> arrays;  // two operands and the result
    std::vector<int64_t> args;   // of the routine
  };

  // The last launch that could make rows for a product.
  struct Front {
    int launch = -1;
    std::vector<Stored> arrays;
    size_t num_inputs = 0;
    std::string name;  // of its ops
    runtime::ByRows how;
  };

  graph::Graph g_;
  std::vector<FusionGroup> groups_;
  bool owned_outputs_;
  Product product_;
  Front front_;
  Placement placement_;
  Compiled out_;
  Storage storage_;
  std::vector<Stored> values_;       // of the nodes that have been asked for, all outputs of one side by side
  graph::NodeMap<int> first_value_;  // its place there, or -1
};

}  // namespace

Compiled compile(const graph::Graph& g, bool owned_outputs) {
  if (g_graph_listener) g_graph_listener(g);
  Phase phase("lower");
  return Compiler(fused(simplified(g)), owned_outputs).run();
}

UserError check_error(const Compiled& c, const runtime::CheckFailure& f) {
  const Label& l = c.labels[f.label];
  INVARIANT(l.op->check_text, l.op->name << " has a check without a text");
  UserError e = runtime_error(l.op->check_text({f.site, f.payload, l.inputs, l.attrs}));
  e.span = l.span;
  return e;
}

std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs, std::span<const uint8_t> given_up) {
  try {
    std::vector<Tensor> out;
    c.tier->watch(c.executable.launches, [&] { out = c.executable.run(inputs, given_up); });
    return out;
  } catch (const runtime::CheckFailure& f) {
    throw check_error(c, f);
  }
}

}  // namespace sheaf::compiler
