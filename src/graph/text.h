// Graphs as text. The text says everything that decides a value (attributes, types, constants to the bit), so
// parse(print(g)) equals g; spans and the rules of custom-vjp are not in it. Control nodes are followed by their
// sub-graphs, host calls show only what they get: such text is for reading.
//
//   graph(v0: f32[2x3]) {
//     v1: f32[2x3] = mul(v0, const f32[] {0x1.8p+1})
//     v2: (f32[2x3], i32[2x3]) = sort(v1) {axis=1}
//     v3: i64[1] = …
//     v4: bool[1x1x1] = take(const bool[1x3x1] splat {false}, v3) {who="get", wrap=true, set=false}
//     keep v4
//     return v2.0, v1
//   }
//
// `keep` names nodes that are computed although no output needs them: checks.
#pragma once
#include <functional>
#include <string>

#include "graph/graph.h"
#include "support/scanner.h"

namespace sheaf::graph {

// The entry of a name, or nullptr: the table of ops is above this layer.
using FindOp = std::function<const OpDef*(std::string_view)>;

// The next graph of the text. Throws UserError (parse) with the place.
Graph parse(Scanner& s, const FindOp& find_op);
// Equal up to ids and spans; constants to the bit.
bool equal(const Graph& a, const Graph& b);

}  // namespace sheaf::graph
