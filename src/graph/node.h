// The graph: immutable SSA nodes that point at their inputs. A node may carry the concrete values of its outputs (tape
// mode: the op ran when the node was made). Ids grow with creation, so descending id is a reverse topological order.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "graph/attrs.h"
#include "support/ref.h"
#include "support/source.h"
#include "tensor/tensor.h"

namespace sheaf::graph {

struct OpDef;
struct Graph;

struct TensorType {
  DType dtype = DType::F32;
  Sizes sizes;
  int rank() const { return static_cast<int>(sizes.size()); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string type_text(const TensorType& t);  // "f32[2x3]"

struct Node;

// One output of a node, or a concrete tensor: anything that an op can be applied to. Graphs hold many of these and
// passes copy them, so both are behind pointers.
class Operand {
 public:
  Operand() = default;
  Operand(Tensor t) : constant_(make_ref<Constant>(std::move(t))) {}
  Operand(Ref<Node> node, int index) : node_(std::move(node)), index_(index) {}
  bool is_node() const { return static_cast<bool>(node_); }
  const Ref<Node>& node() const { return node_; }
  int index() const { return index_; }
  bool has_value() const;       // a tensor, or a node that carries its value
  const Tensor& value() const;  // only when has_value()
  DType dtype() const;
  TensorType type() const;
  int rank() const;
  Size size(int axis) const;
  Sizes sizes() const;
  explicit operator bool() const { return node_ || (constant_ && constant_->tensor.buffer); }

 private:
  struct Constant : Counted {
    explicit Constant(Tensor t) : tensor(std::move(t)) {}
    Tensor tensor;
  };
  const Tensor& tensor() const;
  Ref<const Constant> constant_;
  Ref<Node> node_;
  int index_ = 0;
};

// The VJP rule of one particular node (custom-vjp): computes adjoints of the inputs from the inputs and the adjoints of
// the outputs. An empty operand means that no gradient flows to that input.
using CustomVjp = std::function<std::vector<Operand>(std::span<const Operand> inputs, const std::vector<Operand>& dy)>;

// The action of a host-call node (print, check a guard), called in program order with the values of its inputs. May
// throw.
using HostCall = std::function<void(std::span<const Tensor>)>;

struct Node : Counted {
  const OpDef* op;
  Attrs attrs;
  std::vector<Operand> inputs;
  std::vector<TensorType> types;
  std::vector<Tensor> values;  // empty unless executed
  uint64_t id;
  Span span;  // the user's form that created it
  std::shared_ptr<const CustomVjp> custom;
  std::shared_ptr<const HostCall> host;
  std::vector<std::shared_ptr<const Graph>> subgraphs;  // of control nodes: branches, bodies, tests
  Node(const OpDef* op, Attrs attrs, std::vector<Operand> inputs, std::vector<TensorType> types);
  ~Node();  // frees long chains iteratively
};

// Copies a node with other inputs. Drops its values, which belong to the old inputs.
Ref<Node> with_inputs(const Node& n, std::vector<Operand> inputs);
// Returns a lower bound for the ids of all nodes created from now on.
uint64_t next_node_id();

}  // namespace sheaf::graph
