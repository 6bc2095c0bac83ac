#include "compiler/compile.h"

#include <map>
#include <mutex>
#include <unordered_map>

#include "codegen/block/block.h"
#include "compiler/layout.h"
#include "lower/group.h"
#include "lower/single_op.h"
#include "ops/reduce.h"
#include "ops/table.h"
#include "passes/graph/fuse.h"
#include "passes/graph/share.h"
#include "plan/memory.h"

namespace sheaf::compiler {

std::function<void(const std::string&)> g_kernel_listener;

namespace {

using codegen::BlockKernel;
using graph::Attrs;
using graph::Node;
using graph::Operand;
using graph::OpKind;
using runtime::Place;

class BlockLaunch final : public runtime::Kernel {
 public:
  explicit BlockLaunch(std::shared_ptr<const BlockKernel> k) : kernel_(std::move(k)) {}
  int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const override {
    loop::CheckRecord check;
    kernel_->run(buffers, sizes, check);
    payload = check.payload;
    return check.site;
  }

 private:
  std::shared_ptr<const BlockKernel> kernel_;
};

// Kernels by their text: twelve equal layers compile one.
std::shared_ptr<const runtime::Kernel> kernel_for(loop::Kernel k) {
  static std::mutex mu;
  static auto* known = new std::unordered_map<std::string, std::shared_ptr<const runtime::Kernel>>;
  std::string text = loop::print(k);
  std::lock_guard lock(mu);
  auto& entry = (*known)[text];
  if (!entry) {
    if (g_kernel_listener) g_kernel_listener(text);
    entry = std::make_shared<BlockLaunch>(BlockKernel::compile(std::move(k)));
  }
  return entry;
}

// A materialised value: some memory and how it is laid out there.
struct Stored {
  int memory = -1;       // index into memories_
  int64_t offset = 0;    // elements
  Dims sizes, strides;
  DType dtype = DType::F32;
  Layout layout() const { return {sizes, strides}; }
  bool is_contiguous() const {
    Tensor t;
    t.sizes = sizes;
    t.strides = strides;
    return t.is_contiguous();
  }
};

struct Memory {
  Place::Kind kind = Place::Scratch;
  int index = -1;        // Input, Constant
  int64_t bytes = 0;     // Scratch (or Output, once an output refers to it)
  int first = 0, last = 0;
};

class Compiler {
 public:
  explicit Compiler(const graph::Graph& g) : g_(passes::share_common(g)) {}

  Compiled run() {
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      const auto& t = g_.inputs[i]->types[0];
      Dims sizes = to_dims(t.sizes);
      values_[key(g_.inputs[i].get(), 0)] = {memory({Place::Input, static_cast<int>(i)}), 0, sizes, contiguous_strides(sizes), t.dtype};
    }
    for (const auto& group : passes::choose_groups(g_)) emit(group);
    finish_outputs();
    place_memory();
    return std::move(out_);
  }

 private:
  using Key = std::pair<Node*, int>;
  static Key key(Node* n, int i) { return {n, i}; }

  int memory(Memory m) {
    memories_.push_back(m);
    return static_cast<int>(memories_.size()) - 1;
  }

  Stored fresh(const graph::TensorType& t) {
    Dims sizes = to_dims(t.sizes);
    int64_t bytes = checked_num_elems(sizes) * size_bytes(t.dtype);
    int step = static_cast<int>(out_.executable.launches.size());
    return {memory({Place::Scratch, -1, bytes, step, step}), 0, sizes, contiguous_strides(sizes), t.dtype};
  }

  Stored constant(const Tensor& t) {
    out_.executable.constants.push_back(t);
    return {memory({Place::Constant, static_cast<int>(out_.executable.constants.size()) - 1}), 0, t.sizes, t.strides, t.dtype};
  }

  // Where an operand is; views are resolved here, when first asked for.
  Stored stored(const Operand& o) {
    if (!o.is_node()) return constant(o.value());
    Node* n = o.node().get();
    auto it = values_.find(key(n, o.index()));
    if (it != values_.end()) return it->second;
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
    values_[key(n, 0)] = out;
    return out;
  }

  Stored contiguous_copy(const Stored& in) {
    static const Attrs kNone;
    Stored out = fresh({in.dtype, to_sizes(in.sizes)});
    lower::GroupSpec spec;
    spec.inputs = {in.dtype};
    spec.outputs = {in.dtype};
    spec.externals = {{0, {}}};
    spec.members = {{&ops::op("stop_gradient"), &kNone, in.dtype, {-1}, 0}};
    launch_group(spec, {in}, {out}, in.sizes);
    return out;
  }

  void launch(std::string name, loop::Kernel kernel, const std::vector<Stored>& arrays, std::vector<int64_t> sizes) {
    int step = static_cast<int>(out_.executable.launches.size());
    runtime::Launch l;
    l.name = std::move(name);
    l.kernel = kernel_for(std::move(kernel));
    l.sizes = std::move(sizes);
    l.node = static_cast<int>(out_.labels.size()) - 1;
    for (const Stored& s : arrays) {
      memories_[s.memory].last = std::max(memories_[s.memory].last, step);
      uses_.push_back({step, static_cast<int>(l.buffers.size()), s.memory, s.offset * size_bytes(s.dtype)});
      l.buffers.push_back({});
    }
    out_.executable.launches.push_back(std::move(l));
  }

  // Launches a group kernel over `space`; arrays are stretched to it and its axes collapsed as far as all agree.
  void launch_group(lower::GroupSpec& spec, const std::vector<Stored>& inputs, const std::vector<Stored>& outputs, const Dims& space) {
    std::vector<Layout> layouts{{space, contiguous_strides(space)}};
    for (const Stored& s : inputs) layouts.push_back(stretched(s.layout(), space));
    for (const Stored& s : outputs) layouts.push_back(s.layout());
    collapse_axes(layouts);
    spec.rank = static_cast<int>(layouts[0].sizes.size());
    std::vector<int64_t> sizes(layouts[0].sizes.begin(), layouts[0].sizes.end());
    for (size_t i = 1; i < layouts.size(); ++i) sizes.insert(sizes.end(), layouts[i].strides.begin(), layouts[i].strides.end());
    std::vector<Stored> arrays = inputs;
    arrays.insert(arrays.end(), outputs.begin(), outputs.end());
    launch(group_name(spec, space), lower::lower_group(spec), arrays, std::move(sizes));
  }

  static std::string group_name(const lower::GroupSpec& spec, const Dims& space) {
    std::string name;
    for (const auto& m : spec.members) name += (name.empty() ? "" : "+") + std::string(m.op->name);
    if (name.size() > 60) name = name.substr(0, 57) + "...";
    return name + " " + shape_text(space);
  }

  void label(Node* n) {
    Label l{n->op, n->attrs, {}, n->span};
    for (const Operand& in : n->inputs) l.inputs.push_back(in.type());
    out_.labels.push_back(std::move(l));
  }

  void emit(const passes::FusionGroup& group) {
    Node* root = group.root();
    label(root);
    switch (root->op->kind) {
      case OpKind::Elementwise: return emit_elementwise(group);
      case OpKind::Reduce: return emit_reduce(group);
      default: return emit_single(root);
    }
  }

  // The description of a group; external arrays are appended to `inputs`.
  lower::GroupSpec describe(const passes::FusionGroup& group, std::vector<Stored>& inputs) {
    lower::GroupSpec spec;
    std::map<Node*, int> member;
    std::map<std::pair<Node*, int>, int> external;
    for (Node* n : group.members) {
      lower::GroupMember m{n->op, &n->attrs, n->types[0].dtype, {}, -1};
      for (const Operand& in : n->inputs) {
        if (in.is_node())
          if (auto it = member.find(in.node().get()); it != member.end()) {
            m.args.push_back(it->second);
            continue;
          }
        if (in.is_node())
          if (auto it = external.find(key(in.node().get(), in.index())); it != external.end()) {
            m.args.push_back(it->second);
            continue;
          }
        lower::GroupInput g;
        if (!in.is_node() && in.rank() == 0) {
          g.constant = in.value();
        } else {
          g.array = static_cast<int>(inputs.size());
          inputs.push_back(stored(in));
          spec.inputs.push_back(in.dtype());
        }
        spec.externals.push_back(std::move(g));
        int arg = -static_cast<int>(spec.externals.size());
        if (in.is_node()) external[key(in.node().get(), in.index())] = arg;
        m.args.push_back(arg);
      }
      member[n] = static_cast<int>(spec.members.size());
      spec.members.push_back(std::move(m));
    }
    return spec;
  }

  void emit_elementwise(const passes::FusionGroup& group) {
    std::vector<Stored> inputs, outputs;
    lower::GroupSpec spec = describe(group, inputs);
    for (Node* n : group.stored) {
      for (size_t m = 0; m < group.members.size(); ++m)
        if (group.members[m] == n) spec.members[m].store = static_cast<int>(outputs.size());
      spec.outputs.push_back(n->types[0].dtype);
      outputs.push_back(fresh(n->types[0]));
      values_[key(n, 0)] = outputs.back();
    }
    if (outputs[0].sizes.size() && checked_num_elems(outputs[0].sizes) == 0) return;
    launch_group(spec, inputs, outputs, outputs[0].sizes);
  }

  void emit_reduce(const passes::FusionGroup& group) {
    Node* root = group.root();
    Dims space = to_dims(root->inputs[0].sizes());
    std::vector<bool> reduced(space.size(), false);
    for (Size s : root->attrs.sizes("axes")) reduced[s.value()] = true;
    std::vector<Stored> inputs;
    lower::GroupSpec spec = describe(group, inputs);
    Stored out = fresh(root->types[0]);
    values_[key(root, 0)] = out;
    spec.outputs = {root->types[0].dtype};
    spec.members.back().store = 0;
    spec.combine = ops::combine_of(*root->op);
    // Kept axes in order around the reduced ones: [outer…, reduced…, inner…] when those are neighbours, else moved last.
    std::vector<int> order;
    size_t first = 0;
    while (first < space.size() && !reduced[first]) ++first;
    size_t last = first;
    while (last < space.size() && reduced[last]) ++last;
    bool together = true;
    for (size_t i = last; i < space.size(); ++i) together &= !reduced[i];
    if (together) {
      for (size_t i = 0; i < space.size(); ++i) order.push_back(static_cast<int>(i));
    } else {
      for (bool want : {false, true})
        for (size_t i = 0; i < space.size(); ++i)
          if (reduced[i] == want) order.push_back(static_cast<int>(i));
    }
    std::vector<Layout> layouts;
    for (const Stored& s : inputs) layouts.push_back(permuted(stretched(s.layout(), space), order));
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
    for (int a : order) reduced_in_order.push_back(reduced[a]);
    int axis = collapse_reduction(layouts, reduced_in_order);
    if (axis < 0) {
      // Some array cannot walk the reduced axes as one: reduce a contiguous copy of the elements instead.
      return emit_reduce_of_copy(group, space, order, reduced_in_order, out);
    }
    spec.rank = static_cast<int>(layouts[0].sizes.size());
    spec.reduce_axis = axis;
    std::vector<int64_t> sizes(layouts[0].sizes.begin(), layouts[0].sizes.end());
    for (const Layout& l : layouts) sizes.insert(sizes.end(), l.strides.begin(), l.strides.end());
    std::vector<Stored> arrays = inputs;
    arrays.push_back(out);
    launch(group_name(spec, space), lower::lower_group(spec), arrays, std::move(sizes));
  }

  void emit_reduce_of_copy(const passes::FusionGroup& group, const Dims& space, const std::vector<int>& order, const std::vector<bool>& reduced, const Stored& out) {
    Node* root = group.root();
    const Operand& x = root->inputs[0];
    Stored elements;
    if (group.members.size() > 1) {
      passes::FusionGroup producers;
      producers.members.assign(group.members.begin(), group.members.end() - 1);
      producers.stored = {x.node().get()};
      emit_elementwise(producers);
    }
    elements = stored(x);
    Layout moved = permuted(elements.layout(), order);
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
    spec.externals = {{0, {}}};
    spec.members = {{root->op, &root->attrs, out.dtype, {-1}, 0}};
    spec.combine = ops::combine_of(*root->op);
    spec.rank = parts[2] == 1 ? 2 : 3;
    spec.reduce_axis = 1;
    std::vector<int64_t> sizes = {parts[0], parts[1]};
    if (spec.rank == 3) sizes.push_back(parts[2]);
    std::vector<int64_t> in = {parts[1] * parts[2], parts[2]}, to = {parts[2], 0};
    if (spec.rank == 3) {
      in.push_back(1);
      to.push_back(1);
    }
    sizes.insert(sizes.end(), in.begin(), in.end());
    sizes.insert(sizes.end(), to.begin(), to.end());
    launch(group_name(spec, space), lower::lower_group(spec), {elements, out}, std::move(sizes));
  }

  static Layout permuted(const Layout& l, const std::vector<int>& order) {
    Layout out;
    for (int a : order) {
      out.sizes.push_back(l.sizes[a]);
      out.strides.push_back(l.strides[a]);
    }
    return out;
  }

  // Merges axes of the same sort (kept or reduced) where every array allows it; the position of the one reduced axis, or -1
  // when it stays in pieces.
  static int collapse_reduction(std::vector<Layout>& arrays, const std::vector<bool>& reduced) {
    size_t rank = reduced.size(), n = 0;
    std::vector<bool> sort;
    for (size_t a = 0; a < rank; ++a) {
      if (arrays[0].sizes[a] == 1) continue;
      bool merge = n > 0 && sort[n - 1] == reduced[a];
      for (size_t k = 0; merge && k < arrays.size(); ++k) merge = arrays[k].strides[n - 1] == arrays[k].strides[a] * arrays[k].sizes[a];
      for (Layout& t : arrays) {
        if (merge) {
          t.sizes[n - 1] *= t.sizes[a];
          t.strides[n - 1] = t.strides[a];
        } else {
          t.sizes[n] = t.sizes[a];
          t.strides[n] = t.strides[a];
        }
      }
      if (!merge) {
        sort.push_back(reduced[a]);
        ++n;
      }
    }
    for (Layout& t : arrays) {
      t.sizes.resize(n);
      t.strides.resize(n);
    }
    int axis = -1, pieces = 0;
    for (size_t a = 0; a < n; ++a)
      if (sort[a]) {
        axis = static_cast<int>(a);
        ++pieces;
      }
    if (pieces > 1) return -1;
    if (pieces == 0) {
      // Only axes of size 1 are reduced: one turn.
      for (Layout& t : arrays) {
        t.sizes.push_back(1);
        t.strides.push_back(0);
      }
      axis = static_cast<int>(n);
    }
    return axis;
  }

  void emit_single(Node* n) {
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
      Stored s = fresh(n->types[i]);
      values_[key(n, static_cast<int>(i))] = s;
      out.push_back({s.dtype, static_cast<int>(s.sizes.size())});
      sizes.insert(sizes.end(), s.sizes.begin(), s.sizes.end());
      arrays.push_back(std::move(s));
    }
    std::string name(n->op->name);
    for (const Stored& a : arrays) name += " " + shape_text(a.sizes);
    launch(std::move(name), lower::lower_single(*n->op, n->attrs, in, out), arrays, std::move(sizes));
  }

  void finish_outputs() {
    int end = static_cast<int>(out_.executable.launches.size());
    for (const Operand& o : g_.outputs) {
      Stored s = stored(o);
      Memory& m = memories_[s.memory];
      if (m.kind == Place::Scratch) {
        m.kind = Place::Output;
        m.index = static_cast<int>(out_.executable.output_buffers.size());
        out_.executable.output_buffers.push_back(m.bytes);
      }
      m.last = end;
      out_.executable.outputs.push_back({s.dtype, s.sizes, s.strides, {m.kind, m.index, s.offset * size_bytes(s.dtype)}});
    }
  }

  void place_memory() {
    std::vector<plan::Lifetime> lifetimes;
    std::vector<int> which;
    for (size_t i = 0; i < memories_.size(); ++i)
      if (memories_[i].kind == Place::Scratch) {
        lifetimes.push_back({memories_[i].bytes, memories_[i].first, memories_[i].last});
        which.push_back(static_cast<int>(i));
      }
    plan::MemoryPlan plan = plan::plan_memory(lifetimes);
    out_.executable.scratch_bytes = plan.total_bytes;
    std::vector<int64_t> base(memories_.size(), 0);
    for (size_t i = 0; i < which.size(); ++i) base[which[i]] = plan.offsets[i];
    for (const Use& u : uses_) {
      const Memory& m = memories_[u.memory];
      out_.executable.launches[u.launch].buffers[u.slot] = {m.kind, m.index, base[u.memory] + u.offset_bytes};
    }
  }

  struct Use {
    int launch, slot, memory;
    int64_t offset_bytes;
  };

  graph::Graph g_;
  Compiled out_;
  std::map<Key, Stored> values_;
  std::vector<Memory> memories_;
  std::vector<Use> uses_;
};

}  // namespace

Compiled compile(const graph::Graph& g) { return Compiler(g).run(); }

std::vector<Tensor> run(const Compiled& c, std::span<const Tensor> inputs) {
  try {
    return c.executable.run(inputs);
  } catch (const runtime::CheckFailure& f) {
    const Label& l = c.labels[f.label];
    INVARIANT(l.op->check_text, l.op->name << " has a check without a text");
    UserError e = runtime_error(l.op->check_text({f.site, f.payload, l.inputs, l.attrs}));
    e.span = l.span;
    throw e;
  }
}

}  // namespace sheaf::compiler
