#include "graph/node.h"

#include "graph/engine.h"

namespace sheaf::graph {
namespace {

std::atomic<uint64_t> next_id{1};
std::atomic<Engine*> installed = nullptr;

}  // namespace

void install_engine(Engine* e) { installed.store(e, std::memory_order_release); }
Engine& engine() {
  Engine* e = installed.load(std::memory_order_acquire);
  INVARIANT(e, "no engine is installed");
  return *e;
}

std::string type_text(const TensorType& t) {
  std::string s = std::string(name_of(t.dtype)) + "[";
  for (int i = 0; i < t.rank(); ++i)
    s += (i ? "x" : "") + t.sizes[i].str();
  return s + "]";
}

const Tensor& Operand::tensor() const {
  static const Tensor none{};
  return constant_ ? constant_->tensor : none;
}
bool Operand::has_value() const { return !node_ || !node_->values.empty(); }
const Tensor& Operand::value() const { return node_ ? node_->values[index_] : tensor(); }
DType Operand::dtype() const { return node_ ? node_->types[index_].dtype : tensor().dtype; }
TensorType Operand::type() const {
  return node_ ? node_->types[index_] : TensorType{tensor().dtype, to_sizes(tensor().sizes)};
}
int Operand::rank() const { return node_ ? node_->types[index_].rank() : tensor().rank(); }
Sizes Operand::sizes() const { return node_ ? node_->types[index_].sizes : to_sizes(tensor().sizes); }
Size Operand::size(int axis) const {
  if (axis < 0) axis += rank();
  return node_ ? node_->types[index_].sizes[axis] : Size(tensor().sizes[axis]);
}

Node::Node(const OpDef* op, Attrs attrs, std::vector<Operand> inputs, std::vector<TensorType> types)
    : op(op), attrs(std::move(attrs)), inputs(std::move(inputs)), types(std::move(types)), id(next_id++) {}

Ref<Node> with_inputs(const Node& n, std::vector<Operand> inputs) {
  auto copy = make_ref<Node>(n.op, n.attrs, std::move(inputs), n.types);
  copy->span = n.span;
  copy->custom = n.custom;
  copy->host = n.host;
  copy->subgraphs = n.subgraphs;
  return copy;
}

uint64_t next_node_id() { return next_id.load(); }

Node::~Node() {
  // A tape of 100,000 steps is a chain of that length: freeing the last node must not recurse along it.
  thread_local std::vector<Operand>* pending = nullptr;
  if (pending) {
    for (Operand& o : inputs)
      if (o.is_node()) pending->push_back(std::move(o));
    return;
  }
  std::vector<Operand> work = std::move(inputs);
  pending = &work;
  while (!work.empty()) {
    Operand o = std::move(work.back());
    work.pop_back();
  }
  pending = nullptr;
}

}  // namespace sheaf::graph
