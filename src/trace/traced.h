// Traced values: a graph node plus its language kind. They are ordinary values of the evaluator, so built-ins that only
// move structure need no second version. A node that carries its value (tape mode) is also usable wherever a concrete
// value is needed.
#pragma once
#include "graph/engine.h"
#include "value/value.h"

namespace sheaf::trace {

using graph::Operand;

// What the language sees: promotion and containers depend on it. A traced Int may be computed in f32 (when a gradient
// is taken with respect to it); it still prints and indexes as an int.
enum class Kind : uint8_t { Tensor, Int, Float, Bool };

struct Traced final : TracedObj {
  Operand operand;
  Kind kind;
  Operand wide;  // of a float: the same number in f64, when it may have more digits than an f32; often nobody uses it
  Traced(Operand o, Kind k, Operand wide = {}) : operand(std::move(o)), kind(k), wide(std::move(wide)) {}
  Value concrete() const override;
  std::string describe() const override;
};

// Thrown when a trace needs a value that it does not have; the call then runs another way.
struct Untraceable : std::exception {
  std::string reason;
  Span span;
  bool fatal = false;  // no other arguments will change it: the function is never tried again
  Untraceable(std::string reason, Span span, bool fatal = false)
      : reason(std::move(reason)), span(span), fatal(fatal) {}
  const char* what() const noexcept override { return reason.c_str(); }
};

// The language value of an operand: a plain scalar or tensor when it is concrete, else a traced value.
Value to_value(const Operand& o, Kind kind, const Operand& wide = {});
// True for numbers, bools, tensors and traced values.
bool is_numeric(const Value& v);
Kind kind_of(const Value& numeric);
// As an operand: ints are i64 (a traced int may be f32), floats f32, bools Bool, 0-d.
Operand operand_of(const Value& numeric);
// A float in f64 with the digits that operand_of leaves out; empty when there are none.
Operand wide_operand(const Value& v);
// A float in f64 with all its digits.
Operand f64_operand(const Value& v);
// What an input of a graph that stands for the value gets; a float may be read in f64.
Tensor input_tensor(const Value& v, DType dtype);
// The value itself, or what a traced value stands for right now; throws Untraceable when that is not known.
Value concrete(const Value& v);
// The same all the way through lists and dicts.
Value concrete_tree(const Value& v);

// The operands of the traced leaves of a tree, in order, and the tree with others in their place.
std::vector<Operand> traced_leaves(const Value& tree);
Value with_traced_leaves(const Value& tree, std::span<const Operand> leaves);

// The user's form being run, for nodes and messages.
Span& current_span();

// Installs the engine that runs ops at once and records those that touch a node. Called once at start-up.
void install();

// A fresh node that stands for a tensor, as the place a gradient is taken with respect to.
Operand make_leaf(const Operand& o);

// How many gradients are being taken around the current call: above one, adjoints are recorded.
int& gradient_depth();

}  // namespace sheaf::trace
