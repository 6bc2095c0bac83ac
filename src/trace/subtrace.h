// A part of a trace that becomes a sub-graph.
#pragma once
#include <functional>

#include "ops/subgraph.h"
#include "trace/context.h"

namespace sheaf::trace {

// Runs `body` as a trace inside the current one. The result's arrays are not yet in piece.outputs.
struct Subtrace {
  Value result;
  bool failed = false;  // it raised an error; its effects end with one that stops the run
  ops::Piece piece;     // since, effects, inputs
  std::vector<Ref<graph::Node>> checked;
};
enum class Errors : uint8_t { Raise, Record };
Subtrace subtrace(const std::vector<Ref<graph::Node>>& inputs, const std::function<Value()>& body,
                  Errors errors = Errors::Raise);

// The checks that the piece, whose outputs are known by now, would leave out become effects of it.
void keep_checks(Subtrace& t);

// Control nodes that hold effects are themselves kept in order.
void keep_effects(const std::vector<Operand>& node_outputs, const std::vector<ops::GraphPtr>& subgraphs);

}  // namespace sheaf::trace
