// Graphs as text. The text states everything that decides a value (attributes, types, constants to the bit), so
// parse(print(g)) equals g; it omits spans and the rules of custom-vjp. Control nodes are followed by their sub-graphs,
// and host calls show only their inputs: such text is for reading and cannot be parsed.
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
// `keep` names nodes that run although no output depends on them: checks.
#pragma once
#include <functional>
#include <string>

#include "graph/graph.h"
#include "support/scanner.h"

namespace sheaf::graph {

// Finds the entry of a name, or nullptr. A callback, because the table of ops is above this layer.
using FindOp = std::function<const OpDef*(std::string_view)>;

// Parses the next graph of the text. Throws UserError (parse) with the position.
Graph parse(Scanner& s, const FindOp& find_op);
// Equal up to ids and spans; constants to the bit.
bool equal(const Graph& a, const Graph& b);

}  // namespace sheaf::graph
