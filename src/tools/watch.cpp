#include "tools/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "builtins/host.h"
#include "builtins/output.h"
#include "compiler/tiered.h"
#include "passes/graph/raise_attention.h"
#include "runtime/profiler.h"
#include "support/error.h"
#include "support/internal_error.h"
#include "tools/terminal.h"
#include "trace/jit.h"

namespace sheaf::tools {
namespace {

// Two observers as one.
class Both final : public eval::CallObserver {
 public:
  Both(eval::CallObserver& a, eval::CallObserver& b) : CallObserver(a.watches_all || b.watches_all), a_(a), b_(b) {}
  void enter(eval::Callee kind, std::string_view name, std::span<const Value> args) override {
    if (wants(a_, kind)) a_.enter(kind, name, args);
    if (wants(b_, kind)) b_.enter(kind, name, args);
  }
  void leave(eval::Callee kind, std::string_view name, const Value& result) override {
    // The second may throw; then both are told to unwind, so the first must not have left yet.
    if (wants(b_, kind)) b_.leave(kind, name, result);
    if (wants(a_, kind)) a_.leave(kind, name, result);
  }
  void unwind(eval::Callee kind, std::string_view name) override {
    if (wants(a_, kind)) a_.unwind(kind, name);
    if (wants(b_, kind)) b_.unwind(kind, name);
  }
  void cancel(eval::Callee kind, std::string_view name) override {
    if (wants(a_, kind)) a_.cancel(kind, name);
    if (wants(b_, kind)) b_.cancel(kind, name);
  }

 private:
  static bool wants(const eval::CallObserver& o, eval::Callee kind) { return o.watches_all || kind == eval::Callee::Function; }
  eval::CallObserver& a_;
  eval::CallObserver& b_;
};

std::string jit_profile_text() {
  trace::JitStats s = trace::jit_stats();
  runtime::BufferTime buffers = runtime::buffer_times();
  double total = static_cast<double>(s.flatten_ns + s.call_ns + s.output_ns);
  std::string out = fmt::format("JIT profile: {} dispatches, {:.2f} ms\n", s.dispatches, total / 1e6);
  auto part = [&](const char* name, uint64_t ns, const std::string& note) {
    double share = total > 0 ? 100 * static_cast<double>(ns) / total : 0;
    out += fmt::format("  {:<8} {:>10.2f} ms ({:>5.1f}%){}\n", name, static_cast<double>(ns) / 1e6, share, note);
  };
  part("flatten", s.flatten_ns, "");
  part("buffers", buffers.ns, fmt::format("  cache: {} hits, {} misses", buffers.hits, buffers.misses));
  part("call", s.call_ns - std::min(s.call_ns, buffers.ns), "");
  part("output", s.output_ns, "");
  out += fmt::format("  {} variants compiled, {} attempts failed\n", s.compiled, s.failed);
  constexpr size_t kShownKernels = 20;
  std::vector<runtime::KernelTime> kernels = runtime::kernel_times();
  for (size_t i = 0; i < std::min(kernels.size(), kShownKernels); ++i)
    out += fmt::format("  {:>10.3f} ms {:>8} calls  {}\n", static_cast<double>(kernels[i].ns) / 1e6, kernels[i].calls, kernels[i].name);
  return out;
}

trace::JitMode jit_mode(const std::string& name) {
  if (name.empty() || name == "on" || name == "auto") return trace::JitMode::Auto;
  if (name == "off") return trace::JitMode::Off;
  if (name == "always") return trace::JitMode::Always;
  throw UsageError(fmt::format("--jit: expected on, off or always, got '{}'", name));
}

trace::DynamicMode dynamic_mode(const std::string& name) {
  if (name.empty() || name == "auto") return trace::DynamicMode::Auto;
  if (name == "off") return trace::DynamicMode::Off;
  if (name == "all") return trace::DynamicMode::All;
  throw UsageError(fmt::format("--dynamic: expected auto, off or all, got '{}'", name));
}

// The JIT log of -v; the device is named with the first line.
class JitLog {
 public:
  void add(const trace::JitEvent& e) {
    if (!std::exchange(device_named_, true)) say("sheaf: running on CPU");
    std::string at = e.span ? " at " + place(e.span) : "";
    if (e.outcome == "compiled") say(fmt::format("jit: compiling {} [cpu]...", e.function));
    else say(fmt::format("jit: {} skipped ({}{})", e.function, e.reason, at));
  }

 private:
  bool device_named_ = false;
};

bool is_gradient(const trace::JitEvent& e) { return e.outcome == "compiled" && e.function == "value-and-grad"; }

}  // namespace

Watch::Watch(const Options& o) : options_(o) {
  if (o.mem_profile) memory_ = std::make_unique<MemoryProfile>();
  if (o.is_watched()) trace_ = std::make_unique<TraceObserver>(o);
  if (o.blame) profiler_ = std::make_unique<Profiler>();
  if (trace_ && profiler_) both_ = std::make_unique<Both>(*profiler_, *trace_);
  // Every call is to be visible to a trace or a guard.
  trace::set_jit_mode(o.is_watched() ? trace::JitMode::Off : jit_mode(o.jit));
  trace::set_dynamic_mode(dynamic_mode(o.dynamic));
  passes::g_raise_attention = o.disable != "raise-attention";
  compiler::set_backend(o.backend == "block" ? compiler::Backend::Block : o.backend == "native" ? compiler::Backend::Native : compiler::Backend::Auto);
  bool show_gradients = std::getenv("SHEAF_DEBUG_GRAD") != nullptr;
  if (show_gradients) trace::g_describe_graphs = true;
  if (o.verbosity > 0 || memory_ || show_gradients)
    trace::set_jit_listener([this, show_gradients, log = JitLog()](const trace::JitEvent& e) mutable {
      if (options_.verbosity > 0) log.add(e);
      if (is_gradient(e)) checkpoint("after VAG compile");
      if (show_gradients && is_gradient(e)) say(e.graph);
    });
  if (o.jit_profile) runtime::g_profiling = true;
  eval::g_observer = both_ ? both_.get() : trace_ ? static_cast<eval::CallObserver*>(trace_.get()) : profiler_.get();
}

Watch::~Watch() {
  eval::g_observer = nullptr;
  trace::set_jit_listener(nullptr);
}

void Watch::checkpoint(const char* name) {
  if (memory_) memory_->checkpoint(name);
}

void Watch::report_breach(const builtins::GuardBreach& b) const {
  say_plain(fmt::format("\033[91m/!\\ Guard Breached: {}\033[0m", b.check));
  if (!b.function.empty()) say("Function: " + b.function);
  say(b.message);
  if (b.function.empty()) say(details(b.where));
  if (!trace_) return;
  std::string lines = fmt::format("Backtrace (last {} operations):\n", trace_->recent().size());
  for (const std::string& line : trace_->recent()) lines += "  " + line + "\n";
  say(lines + "--- End of Backtrace ---");
}

int Watch::report_exception() const {
  try {
    throw;
  } catch (const UserError& e) {
    // The terminal has echoed ^C and left the cursor behind it.
    if (e.message == "Interrupted" && is_terminal(STDERR_FILENO)) say_plain("\n");
    say(report(e));
  } catch (const builtins::GuardBreach& b) {
    report_breach(b);
  } catch (const builtins::ExitRequest& e) {
    try {
      builtins::flush_out();
    } catch (const UserError& lost) {
      say(report(lost));
      return e.code ? e.code : 1;
    }
    return e.code;
  } catch (const std::bad_alloc&) {
    say("error: out of memory\n\n");
  } catch (const std::exception& e) {
    say(fmt::format("internal error: {}\n  = hint: this is a mistake in Sheaf, not in the program; please report it with the program\n\n", e.what()));
  }
  return 1;
}

void Watch::report_profiles() {
  eval::g_observer = nullptr;
  if (profiler_) say(profiler_->report());
  if (memory_) say(memory_->report());
  if (options_.jit_profile) say(jit_profile_text());
}

bool is_silent(const Value& v) {
  if (v.is_nil()) return true;
  if (!v.is_list()) return false;
  for (const Value& x : v.items())
    if (!x.is_nil()) return false;
  return true;
}

}  // namespace sheaf::tools
