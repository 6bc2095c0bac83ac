// How an op is applied. Rules and builtins call `apply`; the engine that the trace layer installs decides what happens:
// run now, record a node, or both.
#pragma once
#include "graph/op_def.h"

namespace sheaf::graph {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::vector<Operand> apply(const OpDef& op, std::vector<Operand> inputs, Attrs attrs) = 0;
  // Takes a control node without values. Records it, or runs it when all its inputs are known.
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
