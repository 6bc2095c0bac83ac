#include "compiler/pipeline.h"

#include <algorithm>
#include <array>

#include "graph/text.h"
#include "graph/verify.h"
#include "loop/text.h"
#include "passes/graph/fuse.h"
#include "passes/graph/fuse_products.h"
#include "passes/graph/hoist_products.h"
#include "passes/graph/join_casts.h"
#include "passes/graph/join_parts.h"
#include "passes/graph/join_reshapes.h"
#include "passes/graph/orient_dots.h"
#include "passes/graph/raise_attention.h"
#include "passes/graph/recompute.h"
#include "passes/graph/round_early.h"
#include "passes/graph/share.h"
#include "passes/graph/sink_slices.h"
#include "passes/loop/chunk.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/tile.h"
#include "support/internal_error.h"
#include "support/phases.h"

namespace sheaf::compiler {

#ifdef NDEBUG
bool g_verify = false;
#else
bool g_verify = true;
#endif

namespace {

using GraphPass = graph::Graph(const graph::Graph&);
using GroupPass = void(FusedGraph&, const passes::FusionLimits&);
using KernelPass = loop::Kernel(const loop::Kernel&);
// Run when native code is made, for launches whose strides are known.
struct NativePass {
  loop::Kernel (*run)(const loop::Kernel&, const std::vector<passes::KnownSize>&);
};
// Taken while kernels and memory are planned, by code that asks is_enabled.
struct Decision {};
// Taken further down, by code that reads a variable.
struct Setting {
  bool* value;
};

struct Pass {
  std::string_view name, doc;
  std::variant<Decision, Setting, GraphPass*, passes::FindRewrite*, GroupPass*, KernelPass*, NativePass> run;
};

passes::FusionLimits limits_of(const runtime::Target& t) {
  return {static_cast<size_t>(t.max_fused_ops), static_cast<size_t>(t.max_fused_arrays), t.min_fused_product_elements,
          static_cast<size_t>(t.max_recomputed_ops)};
}

void round_early(FusedGraph& f, const passes::FusionLimits& limits) {
  if (limits.max_recomputed > 1 && f.groups.empty()) f.graph = passes::round_early(f.graph);
}

void fuse(FusedGraph& f, const passes::FusionLimits& limits) { f.groups = passes::choose_groups(f.graph, limits); }

void recompute(FusedGraph& f, const passes::FusionLimits& limits) {
  // Less is tried where that is too much: a copy that finds no room in a group would be one more kernel.
  for (size_t most = limits.max_recomputed; most > 0; most /= 2) {
    auto again = passes::recompute(f.graph, f.groups, most);
    if (!again) return;
    auto groups = passes::choose_groups(*again, limits, is_enabled("fuse"));
    if (groups.size() > f.groups.size()) continue;
    f = {std::move(*again), std::move(groups)};
    return;
  }
}

void follow(FusedGraph& f, const passes::FusionLimits& limits) {
  f.groups = passes::fuse_epilogues(f.graph, std::move(f.groups), limits);
}
void precede(FusedGraph& f, const passes::FusionLimits& limits) {
  f.groups = passes::fuse_prologues(f.graph, std::move(f.groups), limits);
}

loop::Kernel tile(const loop::Kernel& k, const std::vector<passes::KnownSize>&) { return passes::tile_transposed(k); }
loop::Kernel expand_math(const loop::Kernel& k, const std::vector<passes::KnownSize>&) {
  return passes::expand_math(k);
}

constexpr GraphPass* kRaiseAttention = passes::raise_attention;

constexpr Pass kPasses[] = {
    // Graph to graph, for a function whose results are its next arguments (trace/rounded.h): inputs and outputs change.
    {"keep-rounded", "weights that a step reads rounded are left rounded by the step before", Decision{}},
    // Graph to graph.
    // Attention first: what is recognised may be written out twice, once for each use, and sharing would join them.
    {"raise-attention", "attention that is written out becomes one op; rounds in another way", kRaiseAttention},
    {"share", "nodes that compute the same become one", passes::share_common},
    // Before orient-dots transposes products inside the body.
    {"hoist-products", "products of the rows of a loop's input by one matrix run in front of it, all at once",
     passes::hoist_products},
    // After sharing, when every use of a node is in sight. These look at one graph and rebuild it once, together.
    {"orient-dots", "products that are only read transposed are computed that way round", passes::orient_dots},
    {"join-parts", "parts that are added to zeros one by one, and cover them, are concatenated", passes::join_parts},
    {"sink-slices", "elementwise values of which only parts are read are computed part by part", passes::sink_slices},
    // Last of these: orient-dots follows chains of reshapes to the transposes under them.
    {"join-reshapes", "a reshape of a reshape is one", passes::join_reshapes},
    // After join-parts: it looks through concatenations.
    {"join-casts", "floats that are widened and rounded again, or only read rounded, are never wide",
     passes::join_casts},

    // Graph to groups, each a kernel to be.
    {"round-early", "values that are read rounded, too, are rounded where they are computed, on a device", round_early},
    {"fuse", "elementwise nodes and reductions share a kernel", fuse},
    // After fusing: what is worth computing twice depends on which kernel needs it.
    {"recompute", "cheap values are computed again where a later kernel needs them, instead of stored", recompute},
    // Epilogues first: they may come to stand between a product and what makes its factor.
    {"follow", "elementwise kernels run as the epilogue of a product, on tiles that are in a cache", follow},
    {"precede", "elementwise kernels and norms run as the prologue of a product, row by row", precede},

    // Groups to launches and memory.
    {"keep", "values that several loops over a row need wait in an output array", Decision{}},
    {"place", "values that are concatenated are written where they will be", Decision{}},
    {"in-place", "results are written over operands and arguments that nobody reads again", Decision{}},
    {"reuse-scratch", "values that do not live at the same time share memory", Decision{}},
    {"tables", "launches of one kernel over many arrays become one, on a GPU", Decision{}},
    {"repack", "matrices that are read again and again unchanged are copied into the fastest order", Decision{}},

    // Kernel to kernel, for the CPU.
    {"chunk", "loops that no thread shares are split into chunks that run in parallel", passes::chunk},
    // When native code is made. Tiles need to know which strides are 1.
    {"specialize", "native code knows which strides are 0 or 1", NativePass{passes::specialize}},
    {"tile", "operands read across their rows are walked in small squares", NativePass{tile}},
    // Last: the passes before it read elementary functions as single values.
    {"expand-math", "elementary functions become arithmetic; without it their kernels have no native code",
     NativePass{expand_math}},

    // Routines.
    {"matrix-units", "narrow numbers are multiplied by instructions that sum in an order of their own",
     Setting{&runtime::g_matrix_units}},
    {"library-products", "large products of bf16 and f16 run in a GPU's own library",
     Setting{&runtime::g_library_products}},
};

struct State {
  bool disabled = false;
  std::function<void(const std::string&)> dump;
};
std::array<State, std::size(kPasses)> states;

const Pass* find_pass(std::string_view name) {
  auto it = std::find_if(std::begin(kPasses), std::end(kPasses), [&](const Pass& p) { return p.name == name; });
  return it == std::end(kPasses) ? nullptr : it;
}
State& state_of(const Pass& p) { return states[static_cast<size_t>(&p - kPasses)]; }

void verify(const FusedGraph& f) {
  graph::verify(f.graph);
  if (!f.groups.empty()) graph::verify(f.graph, f.groups);
}
std::string text_of(const graph::Graph& g) { return graph::print(g); }
std::string text_of(const FusedGraph& f) { return graph::print(f.graph) + graph::print(f.groups); }
std::string text_of(const loop::Kernel& k) { return loop::print(k); }

// What every pass gets: its switch, its time, its verification, its dump.
template <class I, class F>
void run(const Pass& p, I& ir, F apply) {
  if (state_of(p).disabled) return;
  {
    Phase phase(p.name.data());
    apply();
  }
  if (g_verify) verify(ir);
  if (auto& dump = state_of(p).dump) dump(text_of(ir));
}

// Rewrites that stand together in the list look at one graph, which is then rebuilt once: making nodes costs most.
graph::Graph run_rewrites(std::span<const Pass> passes, const graph::Graph& g) {
  std::vector<graph::Node*> nodes = live_nodes(g);
  std::vector<std::unique_ptr<passes::Rewrite>> found;
  for (const Pass& p : passes) {
    if (state_of(p).disabled) continue;
    Phase phase(p.name.data());
    found.push_back(std::get<passes::FindRewrite*>(p.run)(g, nodes));
  }
  Phase phase("rewrite");
  graph::Graph out = passes::rewritten(g, nodes, found);
  if (g_verify) verify(out);
  for (const Pass& p : passes)
    if (auto& dump = state_of(p).dump; dump && !state_of(p).disabled) dump(text_of(out));
  return out;
}

template <class T>
T* function_of(const Pass& p) {
  T* const* f = std::get_if<T*>(&p.run);
  return f ? *f : nullptr;
}

graph::Graph simplified(const graph::Graph& g) {
  if (g_verify) verify(g);
  graph::Graph out = g;
  for (const Pass* p = std::begin(kPasses); p != std::end(kPasses);) {
    if (auto* f = function_of<GraphPass>(*p)) run(*p, out, [&] { out = f(out); });
    const Pass* first = p++;
    if (!function_of<passes::FindRewrite>(*first)) continue;
    while (p != std::end(kPasses) && function_of<passes::FindRewrite>(*p))
      ++p;
    out = run_rewrites({first, p}, out);
  }
  if (out.nodes.empty()) out.nodes = live_nodes(out);
  return out;
}

}  // namespace

std::vector<PassInfo> all_passes() {
  std::vector<PassInfo> out;
  for (const Pass& p : kPasses)
    out.push_back({p.name, p.doc});
  return out;
}

bool is_enabled(std::string_view pass) {
  const Pass* p = find_pass(pass);
  INVARIANT(p, "there is no pass " << pass);
  return !state_of(*p).disabled;
}

bool switch_pass(std::string_view name, bool on) {
  const Pass* p = find_pass(name);
  if (!p) return false;
  state_of(*p).disabled = !on;
  if (auto* s = std::get_if<Setting>(&p->run)) *s->value = on;
  return true;
}

bool dump_after(std::string_view name, std::function<void(const std::string&)> sink) {
  const Pass* p = find_pass(name);
  if (!p || std::holds_alternative<Decision>(p->run) || std::holds_alternative<Setting>(p->run)) return false;
  state_of(*p).dump = std::move(sink);
  return true;
}

FusedGraph run_graph_passes(const graph::Graph& g, const runtime::Target& target) {
  const passes::FusionLimits limits = limits_of(target);
  FusedGraph out{simplified(g), {}};
  if (!is_enabled("fuse")) out.groups = passes::choose_groups(out.graph, limits, false);
  for (const Pass& p : kPasses)
    if (auto* f = function_of<GroupPass>(p)) run(p, out, [&] { f(out, limits); });
  return out;
}

std::vector<graph::Operand> raised(const std::vector<graph::Operand>& outputs) {
  if (!is_enabled("raise-attention")) return outputs;
  Phase phase("raise-attention");
  return passes::raise_attention(outputs);
}

loop::Kernel run_kernel_passes(loop::Kernel k) {
  if (g_verify) verify(k);
  for (const Pass& p : kPasses)
    if (auto* f = function_of<KernelPass>(p)) run(p, k, [&] { k = f(k); });
  return k;
}

loop::Kernel run_native_passes(loop::Kernel k, const std::vector<passes::KnownSize>& strides) {
  for (const Pass& p : kPasses)
    if (auto* f = std::get_if<NativePass>(&p.run)) run(p, k, [&] { k = f->run(k, strides); });
  return k;
}

bool run_pass(std::string_view name, Ir& ir, const runtime::Target& target) {
  const Pass* p = find_pass(name);
  if (!p) return false;
  if (auto* k = std::get_if<loop::Kernel>(&ir)) {
    if (auto* f = function_of<KernelPass>(*p))
      *k = f(*k);
    else if (auto* native = std::get_if<NativePass>(&p->run))
      *k = native->run(*k, {});
    else
      return false;
    return true;
  }
  if (auto* f = function_of<GroupPass>(*p)) {
    if (auto* g = std::get_if<graph::Graph>(&ir)) {
      FusedGraph fused{std::move(*g), {}};
      if (fused.graph.nodes.empty()) fused.graph.nodes = live_nodes(fused.graph);
      if (f != fuse && f != round_early) fuse(fused, limits_of(target));
      ir = std::move(fused);
    }
    f(std::get<FusedGraph>(ir), limits_of(target));
    return true;
  }
  auto* g = std::get_if<graph::Graph>(&ir);
  if (!g) return false;
  if (auto* f = function_of<GraphPass>(*p))
    *g = f(*g);
  else if (function_of<passes::FindRewrite>(*p))
    *g = run_rewrites({p, 1}, *g);
  else
    return false;
  return true;
}

}  // namespace sheaf::compiler
