// Traced values: a graph node plus its language kind. They are ordinary values of the evaluator, so built-ins that only
// move structure work on them unchanged. A node that carries its value (tape mode) also serves wherever a concrete
// value is needed.
#pragma once
#include "graph/engine.h"
#include "value/value.h"

namespace sheaf::trace {

using graph::Operand;

// The kind visible to the language: promotion and containers depend on it. A traced Int may be computed in f32 (when a
// gradient is taken with respect to it); it still prints and indexes as an int.
enum class Kind : uint8_t { Tensor, Int, Float, Bool };

struct Traced final : TracedObj {
  Operand operand;
  Kind kind;
  Operand wide;  // of a float: the same number in f64, if it may need more digits than an f32 has; often unused
  Traced(Operand o, Kind k, Operand wide = {}) : operand(std::move(o)), kind(k), wide(std::move(wide)) {}
  Value concrete() const override;
  std::string describe() const override;
};

// Thrown when a trace needs a value that it does not have; the call then runs in another way.
struct Untraceable : std::exception {
  std::string reason;
  Span span;
  bool fatal = false;  // no other arguments will help: the function is never traced again
  Untraceable(std::string reason, Span span, bool fatal = false)
      : reason(std::move(reason)), span(span), fatal(fatal) {}
  const char* what() const noexcept override { return reason.c_str(); }
};

// The language value of an operand: a plain scalar or tensor when it is concrete, else a traced value.
Value to_value(const Operand& o, Kind kind, const Operand& wide = {});
// True for numbers, bools, tensors and traced values.
bool is_numeric(const Value& v);
Kind kind_of(const Value& numeric);
// The value as a 0-d operand: ints are i64 (a traced int may be f32), floats f32, bools Bool.
Operand operand_of(const Value& numeric);
// A float in f64, if it has digits that operand_of drops; else empty.
Operand wide_operand(const Value& v);
// A float in f64 with all its digits.
Operand f64_operand(const Value& v);
// The tensor passed to a graph's input for this value; a float may be read in f64.
Tensor input_tensor(const Value& v, DType dtype);
// The value itself, or the current value of a traced one; throws Untraceable if that is unknown.
Value concrete(const Value& v);
// The same for all leaves of lists and dicts.
Value concrete_tree(const Value& v);

// The operands of a tree's traced leaves, in order, and the tree with those replaced.
std::vector<Operand> traced_leaves(const Value& tree);
Value with_traced_leaves(const Value& tree, std::span<const Operand> leaves);

// The user's form that is running, for nodes and messages.
Span& current_span();

// Installs the engine that runs ops at once and records those that read a node. Called once at start-up.
void install();

// A fresh node that stands for a tensor, so that a gradient can be taken with respect to it.
Operand make_leaf(const Operand& o);

// The nesting depth of gradients around the current call: above one, adjoints are recorded.
int& gradient_depth();

}  // namespace sheaf::trace
