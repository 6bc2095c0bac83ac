// The trace in progress on this thread: inputs, effects and checks recorded so far, and what the code will depend on
// (guards, predicates, globals). Traces nest: a branch, a turn of a loop and an example of vmap have one of their own.
#pragma once
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/marks.h"
#include "trace/traced.h"

namespace sheaf::trace {

struct TraceContext {
  std::vector<Ref<graph::Node>> inputs;          // one per leaf: the arguments', then globals'
  std::vector<Ref<graph::Node>> wide_inputs;     // of a float also one in f64, which code that needs it reads instead
  std::vector<Ref<graph::Node>> parameters;      // of a trace whose inputs stand for no leaf: a turn, an example
  std::vector<Value> current;                    // the value each has in the call that is traced
  std::vector<std::pair<size_t, Value>> guards;  // inputs whose value was asked for
  std::vector<std::pair<Operand, Tensor>>
      predicates;                 // scalars computed from inputs whose value was asked for (outermost only)
  bool guards_predicates = true;  // false: a branch on such a scalar takes both ways
  std::vector<std::pair<const Value*, Value>> globals;
  std::vector<Ref<graph::Node>> effects;  // host calls, in order
  std::vector<Ref<graph::Node>> checked;  // reads and writes that check their indices
  std::vector<ArgumentMark> marks;        // outermost only
  std::vector<size_t> small_ints;         // inputs that were taken to be below 2^kArgumentBits (outermost only)
  std::unordered_map<const graph::Node*, graph::IntRange> int_ranges;  // what is known of ints (outermost only)
  bool takes_gradient = false;                                         // outermost only
  bool takes_globals = true;      // false: a sub-trace whose graph is used at once, not kept
  TraceContext* outer = nullptr;  // the trace this one is part of

  // A traced value without a value for a tensor or number. With `symbols`, these are its sizes, or, of an int, its
  // value.
  Value add_input(const Value& leaf, const Sizes* symbols = nullptr);
  // The number an input has now, remembered as a guard; nil when the node is not a scalar input.
  Value guarded_value(const graph::Node* node);
  // The value that a scalar or a short vector has now when it follows from scalar inputs alone.
  std::optional<Tensor> scalar_now(const Operand& o);
  // The same, remembered as a condition for using the compiled code.
  std::optional<Tensor> guarded_scalar(const Operand& o);

  static TraceContext*& current_ref();
  static TraceContext* current_context() { return current_ref(); }

  std::vector<Ref<graph::Node>> all_inputs() const;  // the wide ones too

  TraceContext& outermost() { return outer ? outer->outermost() : *this; }

  struct Use {
    TraceContext& context;
    explicit Use(TraceContext& c) : context(c) {
      c.outer = current_ref();
      current_ref() = &c;
    }
    ~Use() { current_ref() = context.outer; }
  };

 private:
  const Value* current_of(const graph::Node* node) const;
  std::unordered_map<const graph::Node*, std::optional<Tensor>> now_;  // what scalar_now has found (outermost only)
};

}  // namespace sheaf::trace
