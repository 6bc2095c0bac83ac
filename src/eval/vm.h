// Runs register code. One Vm per thread; frames live on the heap, so recursion depth is a limit of ours that ends in a
// Sheaf error. Native functions that call back (map, reduce, …) nest `run` and count against a limit of their own.
#pragma once
#include <atomic>
#include <string_view>

#include "eval/code.h"

namespace sheaf::eval {

inline constexpr size_t kMaxFrames = 200'000, kFramesPerLook = 1'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kMaxNativeDepth = 2'000;  // frames are larger, and no more than 2^16 of them can be recorded
#else
inline constexpr int kMaxNativeDepth = 10'000;
#endif

// Calls and turns left before a run stops with an error (for tests that run hostile programs); negative: no limit.
extern std::atomic<int64_t> g_fuel;

enum class Callee : uint8_t { Function, Lambda, Builtin };

// What observers of calls (--trace, --guard, --blame) implement; nullptr when nobody watches. Every `enter` is followed
// by one `leave`, or one `unwind` when the call ends by an exception (which `leave` itself may throw), or one `cancel`
// when it did not happen after all. A call that runs as compiled code is one call; what it consists of is not seen.
// Calls come from every thread that runs user code. Set before anything runs.
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
  // Ends a recursion that is too deep, or whose active calls hold more memory than the program may have.
  void check_depth(const Value* base);
  void push_frame(Closure* f, Value* base, const Proto* proto, bool boundary);
  void pop_frame();
  static void move_options_last(const Proto& p, Value* args, int argc);
  // Makes the arguments fit the parameters: rest lists, named arguments, missing and surplus ones.
  const Proto* fit_arguments(Closure* f, Value* args, int& argc, bool direct);
  void enter_closure(Closure* f, Value* window, int argc, bool direct, bool boundary);
  Value call_here(const Value& function, std::vector<Value> args, bool may_compile);
  bool call_jitted(const Value& f, Value* window, int argc);
  // What is called but is no closure: a built-in, a keyword, or a mistake.
  void call_value(const Value& f, Value* window, int argc);
  void call_native(const Value& f, Value* window, int argc);
  void call_builtin_at(const builtins::BuiltinDef& def, Value* window, int argc);
  [[noreturn]] void arity_error(const Proto& p, const Value* args, int argc);
  bool bind_by_name(const Proto& p, Value* args, int& argc);
  void add_context(UserError& e, size_t bottom);
  void describe_operator(UserError& e) const;
  // Takes down the top frame of a call that fails.
  void unwind_frame();
  // True when a catch clause goes on; false when the error leaves this run.
  bool handle(UserError& e, size_t bottom, size_t handlers_before);
  Span span_at(const Frame& f) const;
  // Tracing (vm_trace.cpp): goes both ways at the jump just read, whose condition is a traced value.
  void fork(const Value& condition);
  void trace_while(const Fork& fork);
  // The repeat whose test was just read, as a loop node; false when it must be unrolled.
  bool trace_repeat();
  // Runs the current function from `start` to `end` on a copy of its registers, with some of them replaced; gives what
  // register `dst` holds there, or (-1) the condition of the jump that is there.
  Value run_part(int start, int end, int dst, std::initializer_list<std::pair<int, Value>> replaced = {});

  Value* stack_;
  Value* stack_end_;  // where no frame may begin any more
  Value* stack_limit_;
  std::vector<Frame> frames_;
  size_t check_at_ = kFramesPerLook;  // the number of frames at which check_depth looks again
  size_t held_before_ = 0;            // what the program held at the first look
  std::vector<Handler> handlers_;
  std::vector<std::vector<Value>> spare_args_;
  int native_depth_ = 0;
  const int max_native_depth_;
};

// The value `err` of a catch clause, and back.
Value error_value(const UserError& e);

// What a vector literal makes of its elements, a dict literal of its keys and values (language specification §6).
Value vector_value(std::span<Value> elements, bool literal_vectors);
Value dict_value(std::span<Value> keys_and_values);

}  // namespace sheaf::eval
