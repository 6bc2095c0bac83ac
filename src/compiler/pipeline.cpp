#include "compiler/pipeline.h"

#include "graph/verify.h"
#include "passes/graph/join_parts.h"
#include "passes/graph/orient_dots.h"
#include "passes/graph/raise_attention.h"
#include "passes/graph/share.h"
#include "passes/graph/sink_slices.h"
#include "support/phases.h"

namespace sheaf::compiler {

#ifdef NDEBUG
bool g_verify = false;
#else
bool g_verify = true;
#endif

namespace {

constexpr PassInfo kPasses[] = {
    {"raise-attention", "attention that is written out becomes one op; rounds in another way"},
    {"share", "nodes that compute the same become one"},
    {"orient-dots", "products that are only read transposed are computed that way round"},
    {"join-parts", "parts that are added to zeros one by one, and cover them, are put side by side"},
    {"sink-slices", "elementwise values of which only parts are read are computed part by part"},
    {"fuse", "elementwise nodes and reductions share a kernel"},
    {"recompute", "cheap values are computed again where a later kernel needs them, instead of waiting in memory"},
    {"keep", "values that several loops over a row need wait in an output array"},
    {"follow", "elementwise kernels take a product part by part, while these are in a cache"},
    {"precede", "elementwise kernels and norms make rows of a product's factor as it reads them"},
    {"place", "values that are concatenated are written where they will be"},
    {"in-place", "results are written over operands and arguments that nobody reads again"},
    {"reuse-scratch", "values that do not live at the same time share memory"},
    {"repack", "matrices that are read again and again unchanged are copied into the order in which that is fastest"},
    {"specialize", "native code knows which strides are 0 or 1"},
    {"tile", "operands read across their rows are walked in small squares"},
    {"expand-math", "elementary functions become arithmetic; without it kernels that hold some have no native code"},
};
bool disabled[std::size(kPasses)] = {};

template <class F>
graph::Graph run(Pass p, F pass, graph::Graph g) {
  if (!is_enabled(p)) return g;
  Phase phase(kPasses[static_cast<size_t>(p)].name);
  g = pass(g);
  if (g_verify) graph::verify(g);
  return g;
}

graph::Graph rewrite(const graph::Graph& g, std::initializer_list<std::pair<Pass, passes::FindRewrite*>> finders) {
  std::vector<graph::Node*> nodes = live_nodes(g);
  std::vector<std::unique_ptr<passes::Rewrite>> found;
  for (auto [p, find] : finders) {
    if (!is_enabled(p)) continue;
    Phase phase(kPasses[static_cast<size_t>(p)].name);
    found.push_back(find(g, nodes));
  }
  Phase phase("rewrite");
  graph::Graph out = passes::rewritten(g, nodes, found);
  if (g_verify) graph::verify(out);
  return out;
}

}  // namespace

std::span<const PassInfo> all_passes() { return kPasses; }
bool is_enabled(Pass p) { return !disabled[static_cast<size_t>(p)]; }

bool switch_pass(std::string_view name, bool on) {
  for (size_t i = 0; i < std::size(kPasses); ++i)
    if (name == kPasses[i].name) {
      disabled[i] = !on;
      return true;
    }
  return false;
}

graph::Graph simplified(const graph::Graph& g) {
  if (g_verify) graph::verify(g);
  graph::Graph out = g;
  // Before sharing: what is recognised may be written out twice, once for each use.
  out = run(Pass::RaiseAttention, [](const graph::Graph& x) { return passes::raise_attention(x); }, std::move(out));
  out = run(Pass::Share, passes::share_common, std::move(out));
  // After sharing: every use of a node is then in sight.
  out = rewrite(out, {{Pass::OrientDots, passes::orient_dots},
                      {Pass::JoinParts, passes::join_parts},
                      {Pass::SinkSlices, passes::sink_slices}});
  if (out.nodes.empty()) out.nodes = live_nodes(out);
  return out;
}

std::vector<graph::Operand> raised(const std::vector<graph::Operand>& outputs) {
  if (!is_enabled(Pass::RaiseAttention)) return outputs;
  Phase phase("raise-attention");
  return passes::raise_attention(outputs);
}

}  // namespace sheaf::compiler
