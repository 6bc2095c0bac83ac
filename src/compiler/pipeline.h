// Every pass of the compiler, in the order in which it runs: one list, in pipeline.cpp. What stands there can be
// switched off (--disable=NAME: slower code, and the same bits but where the list says otherwise), is timed, dumped
// (--dump-after=NAME) and verified, and sheaf-opt runs it by name.
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

// A graph and the kernels to be that its nodes are grouped into.
struct FusedGraph {
  graph::Graph graph;
  std::vector<graph::FusionGroup> groups;
};

struct PassInfo {
  std::string_view name, doc;
};
// In the order of the list.
std::vector<PassInfo> all_passes();

// Also asked by code that takes a decision of the list while it plans kernels or memory.
bool is_enabled(std::string_view pass);
// False when no pass has that name. What is compiled already stays as it is.
bool switch_pass(std::string_view name, bool on);
// Gives `sink` what each run of the pass leaves, as text. False when no pass has that name or it leaves nothing to
// print.
bool dump_after(std::string_view name, std::function<void(const std::string&)> sink);

// A graph as the back end gets it, grouped into kernels.
FusedGraph run_graph_passes(const graph::Graph& g, const runtime::Target& target);
// Part of a graph that is about to be differentiated: its composites are raised.
std::vector<graph::Operand> raised(const std::vector<graph::Operand>& outputs);
// A kernel as CPU back ends run it.
loop::Kernel run_kernel_passes(loop::Kernel k);
// A kernel as native code is made from it, for launches with these strides.
loop::Kernel run_native_passes(loop::Kernel k, const std::vector<passes::KnownSize>& strides);

// What a pass can be run on by itself (sheaf-opt). Groups are chosen first where a pass needs some.
using Ir = std::variant<graph::Graph, FusedGraph, loop::Kernel>;
// False when the list has no such pass for this kind of IR.
bool run_pass(std::string_view name, Ir& ir, const runtime::Target& target);

// Graphs are verified before and after each pass, kernels before they are compiled: on in debug builds and in tests.
extern bool g_verify;

}  // namespace sheaf::compiler
