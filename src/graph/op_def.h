// The type of an op entry. Every fact about one op is in its entry (ops/); nothing else lists ops.
#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "graph/node.h"

namespace sheaf::loop {
class Builder;
}

namespace sheaf::graph {

// The output of an Update is its first input with some elements changed. Control nodes hold sub-graphs or stand for
// several arrays at once; a Host node calls back into the program's world.
enum class OpKind : uint8_t {
  Elementwise,
  Reduce,
  Movement,
  Gather,
  Scatter,
  Update,
  Contract,
  Ordered,
  Create,
  Structure,
  Control,
  Host
};

// The dtypes of the data an op takes; conditions are Bool and indices i64 besides.
struct DTypes {
  uint16_t bits = 0;
  constexpr bool has(DType d) const { return bits >> static_cast<int>(d) & 1; }
  friend constexpr DTypes operator|(DTypes a, DTypes b) { return {static_cast<uint16_t>(a.bits | b.bits)}; }
};
constexpr DTypes only(DType d) { return {static_cast<uint16_t>(1 << static_cast<int>(d))}; }
inline constexpr DTypes kNoData = {};
inline constexpr DTypes kAnyType = {(1 << kNumDTypes) - 1};
inline constexpr DTypes kFloats = only(DType::F32) | only(DType::F64) | only(DType::BF16) | only(DType::F16);
inline constexpr DTypes kIntegers = only(DType::I32) | only(DType::I64) | only(DType::U32);
inline constexpr DTypes kNumbers = kFloats | kIntegers;
inline constexpr DTypes kNumbersAndBool = kNumbers | only(DType::Bool);
inline constexpr DTypes kIntegersAndBool = kIntegers | only(DType::Bool);

// Shape and dtype rule: the types of the outputs from the inputs' types. Throws UserError on a mismatch.
struct InferCtx {
  std::span<const TensorType> inputs;
  const Attrs& attrs;
};
using InferFn = std::vector<TensorType> (*)(const InferCtx&);

// Reverse rule: reads inputs, outputs and the adjoints of the outputs, gives adjoints to the inputs that need one.
class VjpCtx {
 public:
  virtual ~VjpCtx() = default;
  virtual const Attrs& attrs() const = 0;
  virtual int num_inputs() const = 0;
  virtual Operand x(int input) = 0;
  virtual Operand y(int output = 0) = 0;
  virtual Operand dy(int output = 0) = 0;  // zeros when nothing flowed in
  virtual bool has_dy(int output) const = 0;
  virtual bool needs(int input) const = 0;
  // What has flowed to an input so far, taken away from it so that the rule may add to it in its own way; empty if
  // nothing.
  virtual Operand take_adjoint(int input) = 0;
  // Adds to the adjoint of an input; an adjoint of a stretched shape is summed back to the input's.
  virtual void grad(int input, Operand g) = 0;
  // For nodes with sub-graphs. Sums are not associative, so what a sub-graph adds to an adjoint must be added in the
  // order in which the same nodes outside one would add it: the rule takes the adjoint of an input as it is so far
  // (empty when nothing has flowed to it) and puts another in its place.
  virtual const Node& node() const = 0;
  virtual Operand pending(int input) const = 0;
  virtual void replace_grad(int input, Operand g) = 0;
  // Gives the node a first sub-graph with further outputs behind those it has. It computes what it did, and keeps more
  // of it: the one change that is ever made to a node, so that a reverse which needs inner values need not compute them
  // again.
  virtual void add_outputs(std::shared_ptr<const Graph> body, const std::vector<TensorType>& types) = 0;
  // Adjoints of `wrt` from those of `y`, starting from `start` (entries may be empty); always recorded.
  virtual std::vector<Operand> nested(const std::vector<Operand>& y, const std::vector<Operand>& dy,
                                      const std::vector<Operand>& wrt, const std::vector<Operand>& start) = 0;
};
struct Vjp {
  void (*rule)(VjpCtx&) = nullptr;
  std::string_view reason;  // without a rule: why there is none
  bool zero = false;        // the derivative is zero by definition
};
constexpr Vjp differentiable(void (*rule)(VjpCtx&)) { return {rule, {}, false}; }
constexpr Vjp not_differentiable(std::string_view why) { return {nullptr, why, false}; }
constexpr Vjp zero_derivative(std::string_view why) { return {nullptr, why, true}; }

// Batching rule: the inputs flagged `batched` have one extra leading axis of size `batch`; so must all outputs.
struct BatchCtx {
  const OpDef& op;
  const Attrs& attrs;
  std::vector<Operand> inputs;
  std::vector<bool> batched;
  Size batch;
  // For nodes with sub-graphs: the node, and a sub-graph on inputs of which some are batched (sets which outputs are).
  const Node* node = nullptr;
  std::vector<Operand> (*nested)(const Graph& g, const std::vector<Operand>& inputs, const std::vector<bool>& batched,
                                 Size batch, std::vector<bool>& out_batched) = nullptr;
};
using BatchFn = std::vector<Operand> (*)(BatchCtx&);
struct Batch {
  BatchFn rule = nullptr;
  std::string_view reason;  // without a rule: why the function is run once per example instead
  constexpr Batch() = default;
  template <class F>
    requires std::convertible_to<F, BatchFn>
  constexpr Batch(F f) : rule(f) {}
};
constexpr Batch once_per_example(std::string_view why) {
  Batch b;
  b.reason = why;
  return b;
}

// Builds the value of one output element from the input elements (all of compute types).
struct ScalarCtx {
  loop::Builder& b;
  std::span<const uint32_t> x;  // loop::ValueId
  const Attrs& attrs;
  DType type;  // the output's compute type
};
using ScalarFn = uint32_t (*)(ScalarCtx&);

// Builds a whole kernel (lower/context.h).
class LowerCtx;
using LowerFn = void (*)(LowerCtx&);

// Movement without copying: the strided view of a concrete tensor, or nothing when a copy is needed.
using ViewFn = std::optional<Tensor> (*)(const Tensor&, const Attrs&);

// A control node whose inputs are known, run by applying the ops of its sub-graphs one after another.
using UnrollFn = std::vector<Operand> (*)(const Node&);

// What a failed check of the op's kernel means to the user.
struct CheckCtx {
  int site;
  int64_t payload;
  std::span<const TensorType> inputs;
  const Attrs& attrs;
};
using CheckTextFn = std::string (*)(const CheckCtx&);

struct OpDef {
  std::string_view name;
  OpKind kind;
  std::string_view doc;
  DTypes dtypes;
  InferFn infer;
  Vjp vjp;
  Batch batch;
  ScalarFn scalar = nullptr;  // Elementwise; Update with a window
  bool cheap = false;  // Elementwise: takes an instruction or two, so that computing it again costs less than memory
  LowerFn lower = nullptr;    // everything else that computes
  ViewFn view = nullptr;      // Movement
  ViewFn window = nullptr;    // Update: the part of the output that changes, element by element as `scalar` says
  UnrollFn unroll = nullptr;  // Control
  CheckTextFn check_text = nullptr;
  // For tests: the plain formula in double (unary or binary), and where to sample.
  double (*reference1)(double) = nullptr;
  double (*reference2)(double, double) = nullptr;
  double domain_lo = -3.0, domain_hi = 3.0;
};

}  // namespace sheaf::graph
