// Every pass of the compiler, in execution order: one list, in pipeline.cpp. Each entry can be switched off
// (--disable=NAME: slower code, and the same bits unless the list says otherwise), is timed, dumped (--dump-after=NAME)
// and verified, and sheaf-opt runs it by name.
//
// Switches and dumps are set before anything is compiled; running the passes is thread-safe.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/fusion_group.h"
#include "graph/graph.h"
#include "loop/ir.h"
#include "passes/loop/specialize.h"
#include "runtime/target.h"

namespace sheaf::compiler {

// A graph and the groups of nodes that will become its kernels.
struct FusedGraph {
  graph::Graph graph;
  std::vector<graph::FusionGroup> groups;
};

struct PassInfo {
  std::string_view name, doc;
};
// In the order of the list.
std::vector<PassInfo> all_passes();

// Also called by code that takes a decision of the list while it plans kernels or memory.
bool is_enabled(std::string_view pass);
// Returns false if no pass has that name. Code that is already compiled stays unchanged.
bool switch_pass(std::string_view name, bool on);
// Passes the text of each run's result to `sink`. Returns false if no pass has that name or its result has no text.
bool dump_after(std::string_view name, std::function<void(const std::string&)> sink);

// The graph for the back end, grouped into kernels.
FusedGraph run_graph_passes(const graph::Graph& g, const runtime::Target& target);
// For part of a graph that is about to be differentiated: raises its composites.
std::vector<graph::Operand> raised(const std::vector<graph::Operand>& outputs);
// The kernel that CPU back ends run.
loop::Kernel run_kernel_passes(loop::Kernel k);
// The kernel from which native code is compiled, for launches with these strides.
loop::Kernel run_native_passes(loop::Kernel k, const std::vector<passes::KnownSize>& strides);

// The kinds of IR on which a pass can run by itself (sheaf-opt). Groups are chosen first for a pass that needs them.
using Ir = std::variant<graph::Graph, FusedGraph, loop::Kernel>;
// Returns false if the list has no such pass for this kind of IR.
bool run_pass(std::string_view name, Ir& ir, const runtime::Target& target);

// Verify graphs before and after each pass, and kernels before they are compiled: on in debug builds and in tests.
extern bool g_verify;

}  // namespace sheaf::compiler
