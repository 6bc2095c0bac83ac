// How an op is applied. Rules and builtins call `apply`; what happens (run now, record a node, or both) is decided by
// the engine that the trace layer installs.
#pragma once
#include "graph/op_def.h"

namespace sheaf::graph {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::vector<Operand> apply(const OpDef& op, std::vector<Operand> inputs, Attrs attrs) = 0;
  // A control node as given, but for values: it is recorded, or, when all its inputs are known, run.
  virtual std::vector<Operand> apply_control(Ref<Node> node) = 0;
};
void install_engine(Engine* engine);
Engine& engine();

inline std::vector<Operand> apply_all(const OpDef& op, std::vector<Operand> inputs, Attrs attrs = {}) {
  return engine().apply(op, std::move(inputs), std::move(attrs));
}
inline Operand apply(const OpDef& op, std::vector<Operand> inputs, Attrs attrs = {}) {
  return std::move(apply_all(op, std::move(inputs), std::move(attrs))[0]);
}

}  // namespace sheaf::graph
