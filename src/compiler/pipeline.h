// The passes of the compiler by name. Each can be switched off (--disable=NAME): slower code, and the same bits but
// where the table says otherwise.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sheaf::compiler {

enum class Pass : uint8_t {
  RaiseAttention,
  Share,
  OrientDots,
  JoinParts,
  SinkSlices,
  Fuse,
  Recompute,
  Keep,
  Follow,
  Precede,
  Place,
  InPlace,
  ReuseScratch,
  Repack,
  Specialize,
  Tile,
  ExpandMath
};

struct PassInfo {
  const char* name;
  const char* doc;
};
// In the order of the enumeration, which is that of the pipeline.
std::span<const PassInfo> all_passes();

bool is_enabled(Pass p);
// False when no pass has that name. What is compiled already stays as it is.
bool switch_pass(std::string_view name, bool on);

// A graph as the back end gets it: composites raised, common nodes shared, its nodes listed.
graph::Graph simplified(const graph::Graph& g);
// Part of a graph that is about to be differentiated.
std::vector<graph::Operand> raised(const std::vector<graph::Operand>& outputs);

// Graphs are verified before and after the passes, kernels before they are compiled: on in debug builds and in tests.
extern bool g_verify;

}  // namespace sheaf::compiler
