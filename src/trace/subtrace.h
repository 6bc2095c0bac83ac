// Traces part of a function to a sub-graph.
#pragma once
#include <functional>

#include "ops/subgraph.h"
#include "trace/context.h"

namespace sheaf::trace {

// The result of running `body` as a trace inside the current one. `piece.outputs` does not yet hold the result's
// arrays.
struct Subtrace {
  Value result;
  bool failed = false;  // the body raised an error; its effects end with one that stops the run
  ops::Piece piece;     // since, effects, inputs
  std::vector<Ref<graph::Node>> checked;
};
enum class Errors : uint8_t { Raise, Record };
Subtrace subtrace(const std::vector<Ref<graph::Node>>& inputs, const std::function<Value()>& body,
                  Errors errors = Errors::Raise);

// Makes the checks that the piece would drop effects of it. Its outputs must be set.
void keep_checks(Subtrace& t);

// Records control nodes that contain effects as effects themselves, in order.
void keep_effects(const std::vector<Operand>& node_outputs, const std::vector<ops::GraphPtr>& subgraphs);

}  // namespace sheaf::trace
