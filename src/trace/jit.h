// The tracing JIT. A pure function called with tensors runs once on inputs that have types but no values; the recorded
// graph is compiled and cached under the arguments' structure, dtypes and sizes. The JIT runs user code only through a
// callback, so it needs no evaluator.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "support/source.h"
#include "trace/signature.h"

namespace sheaf::trace {

enum class JitMode : uint8_t { Off, Auto, Always };  // Auto: from the second call of a signature on, large work at once
void set_jit_mode(JitMode mode);
extern bool g_jit_enabled;
// Which sizes compiled code leaves open: those that have changed between calls, none, or all.
enum class DynamicMode : uint8_t { Auto, Off, All };
void set_dynamic_mode(DynamicMode mode);
// The decisions for each function, reported call by call in order: for `explain` and -v.
enum class JitOutcome : uint8_t {
  Compiled,
  Interpreted,
  ScalarOnly
};  // ScalarOnly: nothing in the arguments to compile for
struct JitEvent {
  std::string function;
  JitOutcome outcome;
  std::string reason;
  Span span;
  bool cached = false;  // compiled code was found on disk
  std::string graph;    // the graph as text, when g_describe_graphs is set
  bool takes_gradient = false;
  std::string_view device;  // on which the code runs
};
extern bool g_describe_graphs;
void set_jit_listener(std::function<void(const JitEvent&)> listener);
extern bool g_jit_listens;
// Call this, if there is a listener, for a call without any tensor; reports the first call of each function.
void note_scalar_call(uint64_t code, const std::string& name);
// Called whenever a gradient has been computed, by compiled code or on a tape.
void set_gradient_listener(std::function<void()> listener);
// Call this where a gradient is taken, at once or in the current trace.
void note_gradient();
// Sets a function that is called once, without locks, with a line of text, when there is far more compiled code than
// programs have functions.
void set_jit_warning(std::function<void(const std::string&)> warn);
struct JitStats {
  uint64_t dispatches = 0, compiled = 0, failed = 0;
  // Measured while runtime::g_profiling is on: gathering the inputs, running, building the result.
  uint64_t flatten_ns = 0, call_ns = 0, output_ns = 0;
};
JitStats jit_stats();

// True while a function runs on inputs without values.
bool is_tracing();
// Throws Untraceable: something happened that must not be baked into compiled code.
[[noreturn]] void abandon_trace(std::string reason);

// Definitions have changed: discards compiled code that may have inlined them.
void forget_compiled();
// A global gets a new value. Arrays are inputs of the code that reads them, so code stays valid if both values contain
// some.
void before_redefinition(const Value& old, const Value& now);

// A quick test before anything else: true if some argument holds a tensor.
bool holds_tensor(const Value& v);

// Inside a trace, makes the global an input of it; elsewhere returns its value.
Value global_value(const Value& cell_value);

// Runs `body` on `roots` (a function and its arguments) through compiled code if possible. Returns true if it did.
// `key` identifies the function; `body` must be pure in the roots and globals. Compiled code may overwrite arguments
// that only the roots hold; if this returns false, they are unchanged.
bool run_compiled(const FunctionKey& key, const std::string& name, std::vector<Value>& roots,
                  const std::function<Value(std::vector<Value>)>& body, Value& result);
// Roots without tensors are ignored until this call reports that the body reads arrays from globals.
void note_arrays(const FunctionKey& key);

}  // namespace sheaf::trace
