#include "eval/vm.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <new>
#include <stdexcept>

#include "builtins/arrays/arithmetic.h"
#include "builtins/arrays/mixed.h"
#include "builtins/core/numeric.h"
#include "builtins/core/warnings.h"
#include "builtins/data/keyword.h"
#include "builtins/host/guard.h"
#include "builtins/table.h"
#include "eval/argument_notes.h"
#include "eval/destructure.h"
#include "eval/tombstone.h"
#include "runtime/runner.h"
#include "support/interrupt.h"
#include "support/large_stack.h"
#include "support/machine_memory.h"
#include "trace/control.h"
#include "trace/jit.h"
#include "trace/loops.h"
#include "trace/traced.h"
#include "value/dict.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::eval {

std::atomic<int64_t> g_fuel{-1};
CallObserver* g_observer = nullptr;

namespace {

// Virtual space only: pages are touched as frames grow. All-zero memory is a row of nils. Fewer where address space is
// limited.
constexpr size_t kStackValues = size_t{1} << 24, kLeastStackValues = size_t{1} << 20;
// No function may use more registers than fit after the last frame.
constexpr size_t kStackReserve = size_t{1} << 16;

bool truth(const Value& v) {
  switch (v.tag()) {
    case Tag::Bool: return v.as_bool();
    case Tag::Nil: return false;
    case Tag::Int: return v.as_int() != 0;
    case Tag::Float: return v.as_float() != 0;
    case Tag::Traced: return builtins::is_true(v);
    case Tag::Tensor:
      if (v.as_tensor().rank() > 0) builtins::warn_always_true();
      return truthy(v);
    default: return true;
  }
}

// A traced value whose truth is not known while tracing.
bool is_open(const Value& traced) { return trace::is_tracing() && !trace::known_truth(traced); }

StopError reason_to_stop() { return g_interrupted ? stop_error() : StopError("the program used up its fuel"); }

[[gnu::noinline]] void stop_requested() {
  // A failed trace is followed by the interpreted run: leave the request to that.
  if (trace::is_tracing()) trace::abandon_trace("it was stopped");
  throw reason_to_stop();
}

// Compiled code asks too, between launches.
bool must_stop() {
  if (g_interrupted.load(std::memory_order_relaxed)) [[unlikely]]
    return true;
  if (g_fuel.load(std::memory_order_relaxed) < 0) [[likely]]
    return false;
  if (g_fuel.fetch_sub(1) > 0) return false;
  g_fuel = 0;  // so that it stops again at the next call, whoever takes this one for an error of the program
  return true;
}

inline void poll() {
  if (must_stop()) [[unlikely]]
    stop_requested();
}

// The value of a parameter at its last use; error reports still know what it was.
Value take_param(Value& slot) {
  if (!slot.is_object() || slot.is_string()) return slot;  // nothing overwrites a string, and a report shows its text
  Value note = tombstone_of(slot);
  return std::exchange(slot, std::move(note));
}

// While a function is traced for compilation nothing is called for good.
bool is_watched(const Proto& p) {
  return (p.named || (g_observer->watches_all && !p.top_level)) && !trace::is_tracing();
}
Callee callee_kind(const Proto& p) { return p.named ? Callee::Function : Callee::Lambda; }
const std::string& callee_name(const Proto& p) {
  static const std::string lambda = "<lambda>";
  return p.name.empty() ? lambda : p.name;
}

// A function with a name that came as a value is compiled like one called by its name. One without is the body of a
// loop as often as not, whose sizes may grow; what it calls is compiled.
bool is_passed_on(const Value& f) { return static_cast<Closure*>(f.object())->proto->named; }

// Runs a built-in under the eyes of an observer. Those that special forms compile to are not calls to the user.
template <class F>
Value observed(std::string_view name, std::span<const Value> args, F&& run) {
  if (!g_observer->watches_all || (name.starts_with('%') && name.size() > 1) || trace::is_tracing()) return run();
  g_observer->enter(Callee::Builtin, name, args);
  try {
    Value v = run();
    g_observer->leave(Callee::Builtin, name, v);
    return v;
  } catch (...) {
    g_observer->unwind(Callee::Builtin, name);
    throw;
  }
}

Value invoke_callable(builtins::Caller& caller, builtins::CallableObj& f, std::vector<Value>& args) {
  if (!g_observer) [[likely]]
    return f.invoke(caller, args);
  auto* made = dynamic_cast<builtins::NativeFn*>(&f);
  return observed(made ? std::string_view(made->label) : f.name(), args, [&] { return f.invoke(caller, args); });
}

Value call_keyword(Name key, std::span<const Value> args) {
  auto run = [&] { return builtins::read_key(key, args); };
  if (!g_observer) [[likely]]
    return run();
  return observed(":" + key.str(), args, run);
}

std::string call_text(const Value* args, int argc) {
  std::string s = "(";
  for (int i = 0; i < argc; ++i) {
    bool by_type = args[i].tag() == Tag::Tuple || args[i].tag() == Tag::Builtin;
    s += (i ? ", " : "") + (by_type ? std::string(type_name(args[i])) : short_text(args[i]));
  }
  return s + ")";
}

}  // namespace

Vm::Vm() : max_native_depth_(static_cast<int>(kMaxNativeDepth * stack_share())) {
  void* p = MAP_FAILED;
  size_t values = within_address_space(kStackValues * sizeof(Value), kLeastStackValues * sizeof(Value)) / sizeof(Value);
  for (; values >= kLeastStackValues; values /= 2) {
    p = mmap(nullptr, values * sizeof(Value), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0);
    if (p != MAP_FAILED) break;
  }
  if (p == MAP_FAILED)
    throw runtime_error("no address space for the value stack")
        .hint("the limit on address space (ulimit -v) is too low");
  stack_ = static_cast<Value*>(p);
  stack_limit_ = stack_ + values;
  stack_end_ = stack_limit_ - kStackReserve;
  [[maybe_unused]] static const bool once =
      (runtime::g_stop_requested = must_stop, true);  // machines may begin on several threads at once
}

Vm::~Vm() { munmap(stack_, static_cast<size_t>(stack_limit_ - stack_) * sizeof(Value)); }

Vm& Vm::current() {
  thread_local Vm vm;
  return vm;
}

Span Vm::span_at(const Frame& f) const {
  size_t at = f.pc - f.proto->code.data();
  return at > 0 && at <= f.proto->spans.size() ? f.proto->spans[at - 1] : Span{};
}

void Vm::check_depth(const Value* base) {
  constexpr const char* kHint = "use loop/recur, reduce or while for long iterations; they need no stack";
  size_t calls = frames_.size();
  if (calls >= kMaxFrames || base >= stack_end_)
    throw runtime_error(fmt::format("recursion too deep: {} calls are active", calls)).hint(kHint);
  size_t held = resident_bytes(), limit = memory_stats().limit_bytes;
  if (check_at_ == kFramesPerLook) held_before_ = held;
  if (held > limit / 4 * 3 && held > held_before_ + limit / 2)
    throw runtime_error(fmt::format("recursion too deep: {} calls are active and hold {:.1f} GB", calls,
                                    static_cast<double>(held - held_before_) / 1e9))
        .hint(kHint);
  check_at_ = calls + kFramesPerLook;
}

void Vm::push_frame(Closure* f, Value* base, const Proto* proto, bool boundary) {
  if (frames_.size() >= check_at_ || base >= stack_end_) [[unlikely]]
    check_depth(base);
  frames_.push_back({proto->code.data(), base, Ref<Closure>(f), proto, boundary});
  if (g_observer && is_watched(*proto)) [[unlikely]]
    g_observer->enter(callee_kind(*proto), callee_name(*proto), {base, proto->params.size()});
}

void Vm::pop_frame() {
  Frame& f = frames_.back();
  for (Value *r = f.base, *end = f.base + f.proto->num_registers; r != end; ++r)
    if (r->tag() != Tag::Nil) *r = Value();
  frames_.pop_back();
}

void Vm::unwind_frame() {
  const Proto& p = *frames_.back().proto;
  if (g_observer && is_watched(p)) g_observer->unwind(callee_kind(p), callee_name(p));
  pop_frame();
}

void Vm::arity_error(const Proto& p, const Value* args, int argc) {
  std::string names;
  for (const Param& q : p.params)
    names += (names.empty() ? "" : ", ") + q.name.str();
  size_t n = p.params.size();
  UserError e = runtime_error(fmt::format("{} expects {} argument{} ({}), got {}.\n  Called with: {}",
                                          p.name.empty() ? "fn" : p.name, n, n == 1 ? "" : "s", names, argc,
                                          call_text(args, argc)));
  if (!p.options.empty()) {
    std::string hint = fmt::format("options are written by name: :{} value", p.options[0].str());
    if (p.options.size() > 1) hint += "; known are";
    for (size_t i = 0; p.options.size() > 1 && i < p.options.size(); ++i)
      hint += " :" + p.options[i].str();
    e.hints.push_back(std::move(hint));
  }
  throw e;
}

// A direct call with the wrong count may name its parameters: (f p g :lr 0.1).
bool Vm::bind_by_name(const Proto& p, Value* args, int& argc) {
  size_t n = p.params.size();
  std::vector<Value> bound(n, Value::unbound());
  size_t next = 0;
  bool any = false;
  for (int i = 0; i < argc; ++i) {
    size_t named = n;
    if (args[i].is_keyword() && i + 1 < argc)
      for (size_t k = 0; k < n; ++k)
        if (p.params[k].name == args[i].as_keyword()) named = k;
    if (named < n) {
      if (bound[named].tag() != Tag::Unbound) return false;
      bound[named] = args[++i];
      any = true;
      continue;
    }
    while (next < n && bound[next].tag() != Tag::Unbound)
      ++next;
    if (next == n) return false;
    bound[next] = args[i];
  }
  for (const Value& v : bound)
    if (v.tag() == Tag::Unbound) return false;
  if (!any) return false;
  for (int i = 0; i < argc; ++i)
    args[i] = Value();
  for (size_t k = 0; k < n; ++k)
    args[k] = std::move(bound[k]);
  argc = static_cast<int>(n);
  return true;
}

// Options may be written anywhere: (softmax :axis 0 x) means (softmax x :axis 0).
void Vm::move_options_last(const Proto& p, Value* args, int argc) {
  int positional = static_cast<int>(p.params.size()), left = argc;
  for (int i = 0; i < positional && i + 1 < left;) {
    bool option =
        args[i].is_keyword() && std::find(p.options.begin(), p.options.end(), args[i].as_keyword()) != p.options.end();
    if (!option) {
      ++i;
      continue;
    }
    std::rotate(args + i, args + i + 2, args + argc);
    left -= 2;
  }
}

const Proto* Vm::fit_arguments(Closure* f, Value* args, int& argc, bool direct) {
  Proto& p = *f->proto;
  int n = static_cast<int>(p.params.size());
  if (p.rest_slot >= 0) {
    if (argc < n && direct) arity_error(p, args, argc);
    if (!p.options.empty()) {
      move_options_last(p, args, argc);
      int first_option = std::min(n, argc);
      while (first_option < argc && !args[first_option].is_keyword())
        ++first_option;
      if (first_option > n) {
        if (direct || builtins::is_strict(p.span.source)) arity_error(p, args, argc);
        // A call through a value ignores what the parameters do not take.
        std::rotate(args + n, args + first_option, args + argc);
        for (int kept = argc - (first_option - n); argc > kept; --argc)
          args[argc - 1] = Value();
      }
    }
    std::vector<Value> rest;
    for (int i = n; i < argc; ++i)
      rest.push_back(std::move(args[i]));
    for (int i = argc; i < n; ++i)
      args[i] = Value::unbound();
    args[n] = Value::list(std::move(rest));
    if (argc >= n) {
      argc = n + 1;
      return &p;
    }
  } else if (direct) {
    if (!bind_by_name(p, args, argc)) arity_error(p, args, argc);
    return &p;
  } else if (argc > n) {
    if (builtins::is_strict(p.span.source)) arity_error(p, args, argc);
    for (int i = n; i < argc; ++i)
      args[i] = Value();
    return &p;
  } else {
    if (builtins::is_strict(p.span.source)) arity_error(p, args, argc);
    for (int i = argc; i < n; ++i)
      args[i] = Value::unbound();
  }
  // Some parameter is missing: run the variant that reports its use.
  if (!p.checked) {
    auto checked = std::make_shared<Proto>();
    checked->name = p.name;
    checked->params = p.params;
    checked->rest_slot = p.rest_slot;
    checked->options = p.options;
    checked->named = p.named;
    checked->num_slots = p.num_slots;
    checked->num_captures = p.num_captures;
    checked->span = p.span;
    checked->top_level = p.top_level;
    checked->source = p.source;
    checked->body = std::move(p.body);
    emit_code(*checked, true);
    p.body = std::move(checked->body);
    p.checked = std::move(checked);
  }
  return p.checked.get();
}

void Vm::enter_closure(Closure* f, Value* window, int argc, bool direct, bool boundary) {
  const Proto* p = f->proto.get();
  if (argc != static_cast<int>(p->params.size()) || p->rest_slot >= 0) [[unlikely]]
    p = fit_arguments(f, window + 1, argc, direct && p->named);
  push_frame(f, window + 1, p, boundary);
}

// A function called with tensors may run as compiled code; its result then replaces the window's first register.
bool Vm::call_jitted(const Value& f, Value* window, int argc) {
  if (!trace::g_jit_enabled) return false;
  bool tensors = false;
  for (int i = 1; i <= argc && !tensors; ++i)
    tensors = window[i].tag() > Tag::String && trace::holds_tensor(window[i]);
  auto* closure = static_cast<Closure*>(f.object());
  if (!tensors && !trace::g_jit_listens) [[likely]]
    return false;
  if (trace::is_tracing() || trace::gradient_depth() > 0) return false;
  if (!tensors) {
    if (callee_kind(*closure->proto) == Callee::Function)
      trace::note_scalar_call(closure->proto->number, callee_name(*closure->proto));
    return false;
  }
  int n = static_cast<int>(closure->proto->params.size());
  if (argc != n && closure->proto->rest_slot < 0) return false;
  // `body` calls through a value, which does not count arguments: a call that may have too many is interpreted.
  if (argc > n && !closure->proto->options.empty()) {
    move_options_last(*closure->proto, window + 1, argc);
    if (!window[n + 1].is_keyword()) return false;
  }
  // Moved, not copied: what only this call holds may be overwritten by its results.
  std::vector<Value> roots;
  roots.reserve(static_cast<size_t>(argc) + 1);
  roots.push_back(f);
  for (int i = 1; i <= argc; ++i)
    roots.push_back(std::move(window[i]));
  auto give_back = [&] {
    for (int i = 1; i <= argc; ++i)
      window[i] = std::move(roots[i]);
  };
  Value result;
  auto body = [this](std::vector<Value> traced) {
    Value g = std::move(traced[0]);
    traced.erase(traced.begin());
    return call_here(g, std::move(traced), false);
  };
  const Proto& p = *closure->proto;
  bool watched = g_observer && is_watched(p);
  if (watched) g_observer->enter(callee_kind(p), callee_name(p), {roots.data() + 1, static_cast<size_t>(argc)});
  trace::FunctionKey key{p.number, {.contractions = builtins::mixed_dtype()}};
  bool compiled;
  try {
    compiled = trace::run_compiled(key, callee_name(p), roots, body, result);
  } catch (...) {
    give_back();
    if (watched) g_observer->unwind(callee_kind(p), callee_name(p));
    throw;
  }
  if (watched)
    compiled ? g_observer->leave(callee_kind(p), callee_name(p), result)
             : g_observer->cancel(callee_kind(p), callee_name(p));
  if (!compiled) {
    give_back();
    return false;
  }
  *window = std::move(result);
  return true;
}

void Vm::call_builtin_at(const builtins::BuiltinDef& def, Value* window, int argc) {
  std::vector<Value> args;
  if (!spare_args_.empty()) {
    args = std::move(spare_args_.back());
    spare_args_.pop_back();
  }
  for (int i = 0; i < argc; ++i)
    args.push_back(std::move(window[1 + i]));
  *window = Value();  // an earlier, ignored result must not count as a holder of what is changed in place
  try {
    if (g_observer) [[unlikely]]
      *window = observed(def.name, args, [&] { return builtins::call_builtin(def, *this, args); });
    else
      *window = builtins::call_builtin(def, *this, args);
  } catch (UserError& e) {
    // What special forms compile to, and errors that the program raises itself, have nothing to explain.
    if (!e.span && !e.blames_caller && !def.name.starts_with("%") && def.name != "error")
      note_arguments(e, def.name, span_at(frames_.back()), args);
    throw;
  }
  args.clear();
  if (spare_args_.size() < 64) spare_args_.push_back(std::move(args));
}

void Vm::call_native(const Value& f, Value* window, int argc) {
  std::vector<Value> args;
  for (int i = 0; i < argc; ++i)
    args.push_back(std::move(window[1 + i]));
  Ref<builtins::CallableObj> keep(static_cast<builtins::CallableObj*>(f.object()));
  *window = invoke_callable(*this, *keep, args);
}

void Vm::call_value(const Value& f, Value* window, int argc) {
  trace::current_span() = span_at(frames_.back());
  if (f.tag() == Tag::Builtin) return call_native(f, window, argc);
  if (!f.is_keyword()) throw runtime_error("Expected a function, got " + short_text(f));
  Value result = call_keyword(f.as_keyword(), {window + 1, static_cast<size_t>(argc)});
  for (int i = 1; i <= argc; ++i)
    window[i] = Value();
  *window = std::move(result);
}

Value Vm::call(const Value& function, std::vector<Value> args) { return call_here(function, std::move(args), true); }

Value Vm::call_here(const Value& function, std::vector<Value> args, bool may_compile) {
  if (function.tag() == Tag::Builtin) {
    Value keep = function;
    return invoke_callable(*this, *static_cast<builtins::CallableObj*>(keep.object()), args);
  }
  if (function.is_keyword()) return call_keyword(function.as_keyword(), args);
  if (function.tag() != Tag::Function) throw runtime_error("Expected a function, got " + short_text(function));
  if (native_depth_ >= max_native_depth_)
    throw runtime_error(
        fmt::format("recursion too deep: {} built-in functions are waiting for their callbacks", native_depth_));
  // The new window starts after the registers of the running frame.
  Value* window = frames_.empty() ? stack_ : frames_.back().base + frames_.back().proto->num_registers + 1;
  if (window + args.size() >= stack_end_) throw runtime_error("recursion too deep: the value stack is full");
  for (size_t i = 0; i < args.size(); ++i)
    window[1 + i] = std::move(args[i]);
  size_t bottom = frames_.size();
  if (bottom == 0) check_at_ = kFramesPerLook;
  Value keep = function;
  if (may_compile && is_passed_on(keep) && call_jitted(keep, window, static_cast<int>(args.size())))
    return std::move(*window);
  enter_closure(static_cast<Closure*>(keep.object()), window, static_cast<int>(args.size()), false, true);
  return run(bottom);
}

Value Vm::run_proto(const std::shared_ptr<Proto>& proto) {
  auto closure = make_ref<Closure>();
  closure->proto = proto;
  return call(Value::object(Tag::Function, closure.get()), {});
}

Value Vm::run(size_t bottom) {
  ++native_depth_;
  struct Depth {
    int& d;
    ~Depth() { --d; }
  } depth{native_depth_};
  size_t handlers_before = handlers_.size();

  const Insn* pc = nullptr;
  Value* R = nullptr;
  const Proto* p = nullptr;
  auto load = [&] {
    Frame& f = frames_.back();
    pc = f.pc;
    R = f.base;
    p = f.proto;
  };
  load();
  // Goes on where a `try` catches the error.
  auto raise = [&](auto e) {
    if (!handle(e, bottom, handlers_before)) {
      handlers_.resize(handlers_before);
      throw e;
    }
    load();
  };
  auto operand = [&](uint16_t x) -> const Value& { return x & kConstantBit ? p->constants[x & ~kConstantBit] : R[x]; };
  // Before anything that may throw or call: the frame must know where it stands.
  auto sync = [&] { frames_.back().pc = pc; };

  for (;;) {
    try {
      for (;;) {
        const Insn in = *pc++;
        switch (static_cast<Code>(in.op)) {
          case Code::Move: R[in.a] = R[in.b]; break;
          case Code::Take: R[in.a] = std::move(R[in.b]); break;
          case Code::TakeParam: R[in.a] = take_param(R[in.b]); break;
          case Code::Const: R[in.a] = p->constants[in.i]; break;
          case Code::Int: R[in.a] = Value::integer(in.i); break;
          case Code::Nil: R[in.a] = Value(); break;
          case Code::Global: {
            const Cell& c = *p->cells[in.i];
            if (c.value.tag() == Tag::Unbound) [[unlikely]] {
              sync();
              if (c.broken) throw UserError(*c.broken);
              throw runtime_error("Undefined symbol: " + c.name.str());
            }
            R[in.a] = trace::is_tracing() ? trace::global_value(c.value) : c.value;
            break;
          }
          case Code::Capture: R[in.a] = frames_.back().closure->captures[in.b]; break;
          case Code::Self: R[in.a] = Value::object(Tag::Function, frames_.back().closure.get()); break;
          case Code::CheckBound:
            if (R[in.a].tag() == Tag::Unbound) {
              sync();
              throw runtime_error("Undefined symbol: " + p->constants[in.i].as_keyword().str());
            }
            break;

#define SHEAF_ARITHMETIC(CODE, BUILTIN, SLOW, FLOAT_EXPR)    \
  case Code::CODE: {                                         \
    const Value &x = operand(in.b), &y = operand(in.c);      \
    if (x.is_int() && y.is_int()) {                          \
      int64_t r;                                             \
      if (!BUILTIN(x.as_int(), y.as_int(), &r)) [[likely]] { \
        R[in.a] = Value::integer(r);                         \
        break;                                               \
      }                                                      \
    } else if (x.is_float() && y.is_float()) {               \
      R[in.a] = Value::floating(FLOAT_EXPR);                 \
      break;                                                 \
    }                                                        \
    sync();                                                  \
    trace::current_span() = span_at(frames_.back());         \
    R[in.a] = builtins::SLOW(x, y);                          \
    break;                                                   \
  }
            SHEAF_ARITHMETIC(Add, __builtin_add_overflow, add_values, x.as_float() + y.as_float())
            SHEAF_ARITHMETIC(Sub, __builtin_sub_overflow, sub_values, x.as_float() - y.as_float())
            SHEAF_ARITHMETIC(Mul, __builtin_mul_overflow, mul_values, x.as_float() * y.as_float())
#undef SHEAF_ARITHMETIC
#define SHEAF_BINARY(CODE, CALL)                            \
  case Code::CODE:                                          \
    sync();                                                 \
    trace::current_span() = span_at(frames_.back());        \
    R[in.a] = builtins::CALL(operand(in.b), operand(in.c)); \
    break;
            SHEAF_BINARY(Div, div_values)
            SHEAF_BINARY(FloorDiv, floor_div_values)
            SHEAF_BINARY(Mod, mod_values)
#undef SHEAF_BINARY
#define SHEAF_COMPARE(CODE, UNLESS, OP)                              \
  case Code::CODE: {                                                 \
    const Value &x = operand(in.b), &y = operand(in.c);              \
    if (x.is_int() && y.is_int()) {                                  \
      R[in.a] = Value::boolean(x.as_int() OP y.as_int());            \
      break;                                                         \
    }                                                                \
    sync();                                                          \
    trace::current_span() = span_at(frames_.back());                 \
    R[in.a] = builtins::compare_values(builtins::Cmp::CODE, x, y);   \
    break;                                                           \
  }                                                                  \
  case Code::UNLESS: {                                               \
    const Value &x = operand(in.a), &y = operand(in.b);              \
    bool yes;                                                        \
    if (x.is_int() && y.is_int())                                    \
      yes = x.as_int() OP y.as_int();                                \
    else if (x.is_float() && y.is_float())                           \
      yes = x.as_float() OP y.as_float();                            \
    else {                                                           \
      sync();                                                        \
      trace::current_span() = span_at(frames_.back());               \
      Value v = builtins::compare_values(builtins::Cmp::CODE, x, y); \
      if (v.is_traced() && is_open(v)) [[unlikely]] {                \
        fork(v);                                                     \
        load();                                                      \
        break;                                                       \
      }                                                              \
      yes = truth(v);                                                \
    }                                                                \
    if (yes)                                                         \
      ++pc;                                                          \
    else                                                             \
      pc += pc->i;                                                   \
    break;                                                           \
  }
            SHEAF_COMPARE(Lt, UnlessLt, <)
            SHEAF_COMPARE(Le, UnlessLe, <=)
            SHEAF_COMPARE(Gt, UnlessGt, >)
            SHEAF_COMPARE(Ge, UnlessGe, >=)
#undef SHEAF_COMPARE
          case Code::Not:
            sync();
            if (R[in.b].is_traced()) [[unlikely]] {
              trace::current_span() = span_at(frames_.back());
              R[in.a] = builtins::not_value(R[in.b]);
            } else {
              if (R[in.b].is_tensor()) trace::current_span() = span_at(frames_.back());
              R[in.a] = Value::boolean(!truth(R[in.b]));
            }
            break;
          case Code::Neg:
            sync();
            trace::current_span() = span_at(frames_.back());
            R[in.a] = builtins::neg_value(R[in.b]);
            break;
          case Code::Jump:
            if (in.i < 0) {
              sync();
              poll();
            }
            pc += in.i - 1;
            break;
          case Code::JumpIf:
          case Code::JumpIfNot:
            sync();
            if (R[in.a].is_traced() && is_open(R[in.a])) [[unlikely]] {
              fork(R[in.a]);
              load();
              break;
            }
            if (R[in.a].is_tensor() || R[in.a].is_traced()) trace::current_span() = span_at(frames_.back());
            if (truth(R[in.a]) == (static_cast<Code>(in.op) == Code::JumpIf)) pc += in.i - 1;
            break;
          case Code::Call: {
            sync();
            poll();
            const Value& f = R[in.a];
            if (f.tag() == Tag::Function) {
              if (is_passed_on(f) && call_jitted(Value(f), &R[in.a], in.b)) break;
              enter_closure(static_cast<Closure*>(f.object()), &R[in.a], in.b, false, false);
              load();
            } else {
              call_value(Value(f), &R[in.a], in.b);
            }
            break;
          }
          case Code::CallGlobal: {
            const Cell& c = *p->cells[pc->i];
            ++pc;
            sync();
            poll();
            const Value& f = c.value;
            if (f.tag() == Tag::Function) [[likely]] {
              if (call_jitted(f, &R[in.a], in.b)) break;
              enter_closure(static_cast<Closure*>(f.object()), &R[in.a], in.b, c.is_function, false);
              load();
            } else if (f.tag() == Tag::Unbound) {
              if (c.broken) throw UserError(*c.broken);
              throw runtime_error("Unknown function: " + c.name.str());
            } else {
              call_value(f, &R[in.a], in.b);
            }
            break;
          }
          case Code::CallBuiltin: {
            const builtins::BuiltinDef& def = *p->builtin_refs[pc->i];
            ++pc;
            sync();
            poll();
            trace::current_span() = span_at(frames_.back());
            call_builtin_at(def, &R[in.a], in.b);
            break;
          }
          case Code::Closure: {
            auto closure = make_ref<Closure>();
            closure->proto = p->protos[in.i];
            int n = closure->proto->num_captures;
            closure->captures.reserve(n);
            for (int k = 0; k < n; ++k) {
              const Insn c = *pc++;
              switch (static_cast<Code>(c.op)) {
                case Code::Capture: closure->captures.push_back(frames_.back().closure->captures[c.b]); break;
                case Code::Take: closure->captures.push_back(take_param(R[c.b])); break;
                default: closure->captures.push_back(R[c.b]);
              }
            }
            R[in.a] = Value::object(Tag::Function, closure.get());
            break;
          }
          case Code::Vector: {
            sync();
            trace::current_span() = span_at(frames_.back());
            Value v = vector_value({&R[in.a], in.b}, in.c);
            for (int k = 0; k < in.b; ++k)
              R[in.a + k] = Value();
            R[in.a] = std::move(v);
            break;
          }
          case Code::Dict: {
            sync();
            Value v = dict_value({&R[in.a], in.b});
            for (int k = 0; k < in.b; ++k)
              R[in.a + k] = Value();
            R[in.a] = std::move(v);
            break;
          }
          case Code::Destructure: {
            sync();
            trace::current_span() = span_at(frames_.back());
            Value v = std::move(R[in.a]);
            destructure(v, {&R[in.a], in.b}, in.c ? &R[in.a + in.b] : nullptr);
            break;
          }
          case Code::ParamField: {
            int32_t fallback = pc->i;
            std::span<Value> dicts(&R[in.a], pc->a);
            ++pc;
            sync();
            Name key = p->constants[in.i].as_keyword();
            Value v =
                param_field(dicts, key, fallback >= 0 ? &p->cells[fallback]->value : nullptr, span_at(frames_.back()));
            std::fill(dicts.begin(), dicts.end(), Value());
            R[in.a] = std::move(v);
            break;
          }
          case Code::RepeatCount: {
            sync();
            Value n = trace::concrete(R[in.a]);
            if (!n.is_number() && !(n.is_tensor() && n.as_tensor().rank() == 0))
              throw runtime_error("repeat: count must be an integer, got " + std::string(type_name(n)));
            R[in.a] = Value::integer(builtins::to_index(n, "repeat"));  // none where it is negative, as specified
            break;
          }
          case Code::RepeatTest:
            if (R[in.a].as_int() == 0 && R[in.a + 1].as_int() > trace::kMaxUnrolledTurns && trace::is_tracing())
                [[unlikely]] {
              sync();
              if (trace_repeat()) {
                load();
                break;
              }
            }
            if (R[in.a].as_int() >= R[in.a + 1].as_int())
              pc += pc->i;
            else
              ++pc;
            break;
          case Code::Define: {
            if (trace::is_tracing()) throw trace::Untraceable("it defines a global", span_at(frames_.back()), true);
            Cell& c = *p->cells[in.i];
            if (c.value.tag() != Tag::Unbound) trace::before_redefinition(c.value, R[in.a]);
            c.value = R[in.a];
            c.user_defined = true;
            break;
          }
          case Code::PushTry: handlers_.push_back({frames_.size(), pc + in.i - 1, in.a}); break;
          case Code::PopTry: handlers_.pop_back(); break;
          case Code::Return: {
            Frame& f = frames_.back();
            bool boundary = f.boundary;
            Value result = std::move(R[in.a]);
            if (g_observer && is_watched(*p)) [[unlikely]]
              g_observer->leave(callee_kind(*p), callee_name(*p), result);
            pop_frame();
            if (boundary) return result;
            R[-1] = std::move(result);
            load();
            break;
          }
        }
      }
    } catch (UserError& e) {
      if (!handle(e, bottom, handlers_before)) {
        handlers_.resize(handlers_before);
        throw;
      }
      load();
    } catch (const std::bad_alloc&) {
      raise(runtime_error("out of memory"));
    } catch (const std::length_error&) {  // more elements than any memory holds
      raise(runtime_error("out of memory"));
    } catch (builtins::GuardBreach& b) {
      add_context(b.where, bottom);
      handlers_.resize(handlers_before);
      throw;
    } catch (const runtime::Stopped&) {
      // Compiled code was stopped between launches. Its arguments may be half overwritten, so it is not run another
      // way.
      raise(reason_to_stop());
    } catch (...) {
      // Exits and abandoned traces pass through: only the frames are taken down.
      while (frames_.size() > bottom)
        unwind_frame();
      handlers_.resize(handlers_before);
      throw;
    }
  }
}

Value dict_value(std::span<Value> keys_and_values) {
  auto* d = new DictObj;
  Value v = Value::object(Tag::Dict, d);
  for (size_t i = 0; i < keys_and_values.size(); i += 2) {
    if (!is_key(keys_and_values[i]))
      throw runtime_error("Dict key must be a keyword or a string, got " + std::string(type_name(keys_and_values[i])));
    d->set(key_name(keys_and_values[i]), std::move(keys_and_values[i + 1]));
  }
  return v;
}

Value vector_value(std::span<Value> elements, bool literal_vectors) {
  using trace::Kind;
  if (elements.empty()) return Value::list({});
  bool numbers = true, traced = false, tensors = literal_vectors;
  for (const Value& v : elements) {
    if (v.is_traced()) {
      Kind k = trace::kind_of(v);
      traced = true;
      numbers &= k == Kind::Int || k == Kind::Float;
      tensors &= k == Kind::Tensor;
    } else {
      numbers &= v.is_number();
      tensors &= v.is_tensor();
    }
  }
  if (numbers && !traced) {
    Tensor t = empty_tensor(DType::F32, {static_cast<int64_t>(elements.size())});
    float* data = t.data_mut<float>();
    for (size_t i = 0; i < elements.size(); ++i)
      data[i] = elements[i].number();
    return Value::tensor(std::move(t));
  }
  if (numbers || tensors) {
    std::vector<graph::Operand> parts;
    bool same = true;
    for (const Value& v : elements) {
      parts.push_back(ops::cast(trace::operand_of(v), DType::F32));
      same &= parts.back().sizes() == parts[0].sizes();
    }
    if (same) {
      for (graph::Operand& o : parts)
        o = ops::expand_axis(o, 0);
      return trace::to_value(ops::concat(std::move(parts), 0), Kind::Tensor);
    }
  }
  std::vector<Value> items;
  for (Value& v : elements)
    items.push_back(std::move(v));
  return Value::list(std::move(items));
}

}  // namespace sheaf::eval
