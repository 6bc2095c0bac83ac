// The trace in progress on this thread.
#pragma once
#include <utility>
#include <vector>

#include "trace/traced.h"

namespace sheaf::trace {

struct Context {
  std::vector<Ref<graph::Node>> inputs;               // one per leaf, globals' leaves behind the arguments'
  std::vector<Value> current;                         // the value each has in the call that is traced
  std::vector<std::pair<size_t, Value>> guards;       // inputs whose value was asked for
  std::vector<std::pair<const Value*, Value>> globals;
  bool takes_globals = true;                          // false: a sub-trace whose graph is used at once, not kept
  Context* outer = nullptr;                           // the trace this one is part of

  // A traced value without a value for a tensor or number.
  Value add_input(const Value& leaf);
  // The number an input has now, remembered as a guard; nil when the node is not a scalar input.
  Value guarded_value(const graph::Node* node);

  static Context*& current_ref();
  static Context* current_context() { return current_ref(); }

  struct Use {
    Context& context;
    explicit Use(Context& c) : context(c) {
      c.outer = current_ref();
      current_ref() = &c;
    }
    ~Use() { current_ref() = context.outer; }
  };
};

}  // namespace sheaf::trace
