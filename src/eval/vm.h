// Runs register code. One Vm per thread; frames live on the heap, so the recursion limit is ours to choose and
// exceeding it raises a Sheaf error. Native functions that call back (map, reduce, …) nest `run` and have a limit of
// their own.
#pragma once
#include <atomic>
#include <string_view>

#include "eval/code.h"

namespace sheaf::eval {

inline constexpr size_t kMaxFrames = 200'000, kFramesPerLook = 1'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kMaxNativeDepth = 2'000;  // native frames are larger, and at most 2^16 of them can be recorded
#else
inline constexpr int kMaxNativeDepth = 10'000;
#endif

// Calls and iterations left before a run stops with an error (for tests that run hostile programs); negative: no limit.
extern std::atomic<int64_t> g_fuel;

enum class Callee : uint8_t { Function, Lambda, Builtin };

// The interface of call observers (--trace, --guard, --blame); nullptr without one. Every `enter` is followed by one
// `leave`, or one `unwind` if the call ends by an exception (which `leave` itself may throw), or one `cancel` if the
// call did not happen after all. A call that runs as compiled code is one call; calls inside it are invisible. Calls
// come from every thread that runs user code. Set it before anything runs.
class CallObserver {
 public:
  // With `watches_all`, lambdas ("<lambda>") and built-ins are reported too.
  explicit CallObserver(bool watches_all) : watches_all(watches_all) {}
  virtual ~CallObserver() = default;
  virtual void enter(Callee kind, std::string_view name, std::span<const Value> args) = 0;
  virtual void leave(Callee kind, std::string_view name, const Value& result) = 0;
  virtual void unwind(Callee kind, std::string_view name) = 0;
  virtual void cancel(Callee kind, std::string_view name) {}
  const bool watches_all;
};
extern CallObserver* g_observer;

class Vm final : public builtins::Caller {
 public:
  Vm();
  ~Vm() override;
  Vm(const Vm&) = delete;

  Value call(const Value& function, std::vector<Value> args) override;
  // Runs a parameterless proto (a top-level form).
  Value run_proto(const std::shared_ptr<Proto>& proto);

  // The Vm of the calling thread.
  static Vm& current();

 private:
  struct Frame {
    const Insn* pc;
    Value* base;
    Ref<Closure> closure;
    const Proto* proto;
    bool boundary;  // returning from it leaves `run`
  };
  struct Handler {
    size_t frame;
    const Insn* target;
    int reg;
  };

  Value run(size_t bottom);
  // Stops a recursion that is too deep, or whose active calls hold more memory than the program may use.
  void check_depth(const Value* base);
  void push_frame(Closure* f, Value* base, const Proto* proto, bool boundary);
  void pop_frame();
  static void move_options_last(const Proto& p, Value* args, int argc);
  // Matches the arguments to the parameters: rest lists, named arguments, missing and surplus ones.
  const Proto* fit_arguments(Closure* f, Value* args, int& argc, bool direct);
  void enter_closure(Closure* f, Value* window, int argc, bool direct, bool boundary);
  Value call_here(const Value& function, std::vector<Value> args, bool may_compile);
  bool call_jitted(const Value& f, Value* window, int argc);
  // Calls a value that is not a closure: a built-in or a keyword; anything else is an error.
  void call_value(const Value& f, Value* window, int argc);
  void call_native(const Value& f, Value* window, int argc);
  void call_builtin_at(const builtins::BuiltinDef& def, Value* window, int argc);
  [[noreturn]] void arity_error(const Proto& p, const Value* args, int argc);
  bool bind_by_name(const Proto& p, Value* args, int& argc);
  void add_context(UserError& e, size_t bottom);
  void describe_operator(UserError& e) const;
  // Pops the top frame of a call that fails.
  void unwind_frame();
  // Returns true if a catch clause handles the error, false if the error leaves this run.
  bool handle(UserError& e, size_t bottom, size_t handlers_before);
  Span span_at(const Frame& f) const;
  // Tracing (vm_trace.cpp): traces both targets of the current jump, whose condition is a traced value.
  void fork(const Value& condition);
  void trace_while(const Fork& fork);
  // Traces the repeat whose test is the current instruction as a loop node; returns false if it must be unrolled.
  bool trace_repeat();
  // Runs the current function from `start` to `end` on a copy of its registers, with some replaced. Returns the value
  // of register `dst` at the end, or (-1) the condition of the jump there.
  Value run_part(int start, int end, int dst, std::initializer_list<std::pair<int, Value>> replaced = {});

  Value* stack_;
  Value* stack_end_;  // no frame may start beyond this
  Value* stack_limit_;
  std::vector<Frame> frames_;
  size_t check_at_ = kFramesPerLook;  // the number of frames at which check_depth checks again
  size_t held_before_ = 0;            // memory that the program held at the first check
  std::vector<Handler> handlers_;
  std::vector<std::vector<Value>> spare_args_;
  int native_depth_ = 0;
  const int max_native_depth_;
};

// The value `err` of a catch clause, and back.
Value error_value(const UserError& e);

// The value of a vector literal from its elements, of a dict literal from its keys and values (language specification
// §6).
Value vector_value(std::span<Value> elements, bool literal_vectors);
Value dict_value(std::span<Value> keys_and_values);

}  // namespace sheaf::eval
