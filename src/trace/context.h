// The current trace of this thread: inputs, effects and checks recorded so far, and the facts that the code will depend
// on (guards, predicates, globals). Traces nest: a branch, a loop iteration and an example of vmap each have their own.
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
  std::vector<Ref<graph::Node>> wide_inputs;     // of a float, an additional one in f64 for code that needs it
  std::vector<Ref<graph::Node>> parameters;      // of a trace whose inputs stand for no leaf: an iteration, an example
  std::vector<Value> current;                    // by input: its value in the traced call
  std::vector<std::pair<size_t, Value>> guards;  // inputs whose values the trace has read
  std::vector<std::pair<Operand, Tensor>>
      predicates;                 // scalars computed from inputs whose values the trace has read (outermost only)
  bool guards_predicates = true;  // false: a branch on such a scalar traces both branches
  std::vector<std::pair<const Value*, Value>> globals;
  std::vector<Ref<graph::Node>> effects;  // host calls, in order
  std::vector<Ref<graph::Node>> checked;  // reads and writes that check their indices
  std::vector<ArgumentMark> marks;        // outermost only
  std::vector<size_t> small_ints;         // inputs assumed to be below 2^kArgumentBits (outermost only)
  std::unordered_map<const graph::Node*, graph::IntRange> int_ranges;  // known ranges of ints (outermost only)
  bool takes_gradient = false;                                         // outermost only
  bool takes_globals = true;      // false: a sub-trace whose graph is used at once and not kept
  TraceContext* outer = nullptr;  // the enclosing trace

  // Adds an input for a tensor or number: a traced value without a concrete one. `symbols` are its sizes, or, for an
  // int, its value.
  Value add_input(const Value& leaf, const Sizes* symbols = nullptr);
  // The number that an input has now, recorded as a guard; nil if the node is not a scalar input.
  Value guarded_value(const graph::Node* node);
  // The current value of a scalar or a short vector that follows from scalar inputs alone.
  std::optional<Tensor> scalar_now(const Operand& o);
  // The same, recorded as a condition for using the compiled code.
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
  std::unordered_map<const graph::Node*, std::optional<Tensor>> now_;  // results of scalar_now (outermost only)
};

}  // namespace sheaf::trace
