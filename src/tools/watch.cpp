#include "tools/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <utility>

#include "advice/hints.h"
#include "advice/report.h"
#include "builtins/arrays/gradient_watch.h"
#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "builtins/table.h"
#include "compiler/check.h"
#include "compiler/code_store.h"
#include "compiler/inspect.h"
#include "compiler/pipeline.h"
#include "compiler/tiered.h"
#include "kernels/gemm/autotune.h"
#include "kernels/simd/peak.h"
#include "runtime/device_cuda.h"
#include "runtime/profiler.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"
#include "support/internal_error.h"
#include "support/interrupt.h"
#include "support/mutex.h"
#include "support/phases.h"
#include "tools/interrupt.h"
#include "tools/terminal.h"
#include "trace/jit.h"

namespace sheaf::tools {
namespace {

// Combines two observers.
class Both final : public eval::CallObserver {
 public:
  Both(eval::CallObserver& a, eval::CallObserver& b) : CallObserver(a.watches_all || b.watches_all), a_(a), b_(b) {}
  void enter(eval::Callee kind, std::string_view name, std::span<const Value> args) override {
    if (wants(a_, kind)) a_.enter(kind, name, args);
    if (wants(b_, kind)) b_.enter(kind, name, args);
  }
  void leave(eval::Callee kind, std::string_view name, const Value& result) override {
    // The second may throw; then both must unwind, so the first must not have left yet.
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
  static bool wants(const eval::CallObserver& o, eval::Callee kind) {
    return o.watches_all || kind == eval::Callee::Function;
  }
  eval::CallObserver& a_;
  eval::CallObserver& b_;
};

// The most expensive kernels; rates are those of a kernel's fastest call, with the machine's peak.
std::string kernels_text() {
  constexpr size_t kShownKernels = 30;
  std::vector<runtime::KernelTime> kernels = runtime::kernel_times();
  if (kernels.empty()) return "";
  kernels::Peak peak = kernels::measure_peak(runtime::num_threads());
  std::string out = fmt::format(
      "  this machine, {} threads: {:.1f} GFLOP/s (f32), reads {:.1f} GB/s\n  {:>10} {:>6} {:>8} {:>10} {:>8} {:>7} "
      "{:>8}  kernel\n",
      runtime::num_threads(), peak.gflops, peak.read_gbs, "ms", "%", "calls", "best ms", "GFLOP/s", "GB/s", "of peak");
  double total = 0;
  for (const runtime::KernelTime& k : kernels)
    total += static_cast<double>(k.ns);
  for (size_t i = 0; i < std::min(kernels.size(), kShownKernels); ++i) {
    const runtime::KernelTime& k = kernels[i];
    double ns = static_cast<double>(k.ns), best = std::max(1.0, static_cast<double>(k.best_ns));
    double gflops = static_cast<double>(k.flops) / best, gbs = static_cast<double>(k.bytes) / best;
    bool compute = gflops / peak.gflops > gbs / peak.read_gbs;  // the nearer limit: arithmetic or memory
    // Reads from cache can exceed the memory bandwidth: marked "c", without a share of that limit.
    double share = compute ? gflops / peak.gflops : gbs / peak.read_gbs;
    const char* limit = compute ? "a" : share > 1 ? "c" : "m";
    out += fmt::format("  {:>10.3f} {:>6.1f} {:>8} {:>10.4f} {:>8} {:>7.1f} {:>5.0f}% {}  {}\n", ns / 1e6,
                       100 * ns / total, k.calls, best / 1e6, k.flops ? fmt::format("{:.1f}", gflops) : "", gbs,
                       100 * std::min(share, 1.0), limit, k.name);
  }
  return out;
}

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
  // Buffers are also allocated outside dispatches, by single operations.
  uint64_t buffers_ns = std::min(buffers.ns, s.call_ns);
  part("buffers", buffers_ns, fmt::format("  cache: {} hits, {} misses", buffers.hits, buffers.misses));
  part("call", s.call_ns - buffers_ns, "");
  part("output", s.output_ns, "");
  out += fmt::format("  {} variants compiled, {} attempts failed\n", s.compiled, s.failed);
  for (const PhaseTime& p : phase_times())
    out += fmt::format("  {:>10.3f} ms {:>8} times  compiling: {}\n", static_cast<double>(p.ns) / 1e6, p.count, p.name);
  return out + kernels_text();
}

trace::JitMode jit_mode(const std::string& name) {
  return name == "off" ? trace::JitMode::Off : name == "always" ? trace::JitMode::Always : trace::JitMode::Auto;
}

trace::DynamicMode dynamic_mode(const std::string& name) {
  return name == "off" ? trace::DynamicMode::Off : name == "all" ? trace::DynamicMode::All : trace::DynamicMode::Auto;
}

// Checks a name for --trace or --guard: they watch functions, and built-ins only if all calls are watched.
void check_name(const std::string& flag, const std::string& name, const Options& o, const eval::Globals& globals) {
  std::vector<std::string_view> names;
  std::string own;
  for (const eval::Cell* c : globals.user_cells()) {
    names.push_back(eval::plain_name(c->name).str());
    own += fmt::format("{}{}", own.empty() ? "" : ", ", names.back());
  }
  for (const auto& [n, where] : globals.prelude_functions())
    names.push_back(n.str());
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  bool built_in = builtins::find_builtin(name) != nullptr;
  if (built_in && flag == "--trace" && o.trace_level >= 3) return;
  UserError e = runtime_error(built_in ? fmt::format("{}: '{}' is a built-in, and functions are watched", flag, name)
                                       : fmt::format("{}: there is no function '{}'", flag, name));
  if (built_in && flag == "--trace") e.hints.push_back("--trace-level 3 shows the calls of built-ins too");
  if (auto likely = advice::likely_name(name, names); !built_in && !likely.empty())
    e.hints.push_back(advice::did_you_mean(likely));
  e.hints.push_back(own.empty() ? "this program defines none" : "this program defines " + own);
  throw e;
}

// The JIT log of -v, with graphs for -vv; the first line names the device.
class JitLog {
 public:
  explicit JitLog(bool full) : full_(full) {}
  void add(const trace::JitEvent& e) {
    if (!std::exchange(device_named_, true)) name_device();
    std::string at = e.span ? " at " + place(e.span) : "";
    if (e.cached)
      say(fmt::format("jit: {} (cached)", e.function));
    else if (e.outcome == trace::JitOutcome::Compiled)
      say(fmt::format("jit: compiling {} [{}]...", e.function, e.device));
    else
      say(fmt::format("jit: {} skipped ({}{})", e.function, e.reason, at));
    if (full_ && !e.graph.empty()) say(e.graph);
  }

 private:
  void name_device() {
    say(fmt::format("sheaf: running on {}", runtime::g_device ? runtime::g_device->shown_name() : "CPU"));
    if (auto why = runtime::host_target().amx_refused; !why.empty()) say(fmt::format("sheaf: {}", why));
    if (runtime::g_device && runtime::g_device->target().id == runtime::TargetId::Cuda)
      for (const std::string& library : runtime::find_cuda_libraries())
        say(fmt::format("sheaf:   {}", library));
  }

  bool full_, device_named_ = false;
};

// SHEAF_DEBUG_GRAD: the passes of each differentiated function, at its first gradient.
class Gradients {
 public:
  void show(const Value& function, const graph::Graph& passes) {
    std::string name = function.as_function()->name(), text = print(passes);
    {
      MutexLock lock(mu_);
      if (!shown_.insert(function.tag() == Tag::Function ? std::to_string(function.as_function()->code_number()) : text)
               .second)
        return;
    }
    say(fmt::format("gradient of {}: {}", name.empty() ? "<lambda>" : name, text));
  }

 private:
  Mutex mu_;
  std::set<std::string> shown_ GUARDED_BY(mu_);  // by the code's number, or the resulting text
};

Gradients& gradients() {
  static auto* g = new Gradients;
  return *g;
}

// The name of the function that contains a form.
std::string function_around(const Span& span) {
  if (!span) return "(unknown)";
  const std::string& text = source_text(span.source);
  constexpr std::string_view kHead = "(defn ";
  for (size_t at = text.rfind(kHead, span.begin); at != std::string::npos;
       at = at ? text.rfind(kHead, at - 1) : std::string::npos) {
    if (at > 0 && text[at - 1] != '\n') continue;
    size_t begin = at + kHead.size();
    return text.substr(begin, text.find_first_of(" \t\n[", begin) - begin);
  }
  return "(top level)";
}

// Time inside compiled code, by the function that contains its forms: separates calls that were compiled together.
std::string compiled_blame() {
  struct Row {
    uint64_t calls = 0, ns = 0;
    Span hottest;
  };
  std::map<std::string, Row> rows;
  uint64_t total = 0;
  for (const runtime::SpanTime& t : runtime::span_times()) {
    Row& r = rows[function_around(t.span)];
    if (!r.calls) r.hottest = t.span;
    r.calls += t.calls;
    r.ns += t.ns;
    total += t.ns;
  }
  if (rows.empty()) return "";
  std::vector<std::pair<std::string, Row>> order(rows.begin(), rows.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  std::string out = fmt::format("\n  Compiled code: {}\n  {:<30} {:>8} {:>10} {:>7}  hottest form\n",
                                duration_text(static_cast<int64_t>(total)), "Forms of", "Launches", "Time", "Share");
  for (const auto& [name, r] : order)
    out += fmt::format(
        "  {:<30} {:>8} {:>10} {:>6.1f}%  {}\n", name, r.calls, duration_text(static_cast<int64_t>(r.ns)),
        100.0 * static_cast<double>(r.ns) / static_cast<double>(std::max<uint64_t>(total, 1)), place(r.hottest));
  return out;
}

// --max-autotune: each product with the time of every algorithm in milliseconds; marks the chosen one.
std::string autotune_text() {
  std::vector<kernels::TunedWork> all = kernels::tuned_work();
  auto measured = std::count_if(all.begin(), all.end(), [](const auto& t) { return t.measured; });
  std::string out = fmt::format("\nAutotune: {} products, {} measured now, {} known\n", all.size(), measured,
                                std::ssize(all) - measured);
  if (!all.empty())
    out +=
        "  gain  product [m x k x n, strides of both]: milliseconds of each algorithm, the default first, * chosen\n";
  for (const kernels::TunedWork& t : all) {
    out += fmt::format("  {:4.2f}x {}:", t.timings[0].ms / t.timings[t.chosen].ms, t.work);
    for (size_t i = 0; i < t.timings.size(); ++i)
      out += fmt::format("  {}{} {:.4f}", i == t.chosen ? "*" : "", t.timings[i].algorithm, t.timings[i].ms);
    out += "\n";
  }
  return out;
}

// --perf-hints, collected while the program runs; prints each once.
class Hints {
 public:
  void add(const compiler::Hint& h) {
    std::string line = fmt::format("  {}{}", h.span ? place(h.span) + ": " : "", h.text);
    MutexLock lock(mu_);
    int64_t& bytes = lines_[line];
    bytes = std::max(bytes, h.bytes);
  }
  std::string text() {
    MutexLock lock(mu_);
    if (lines_.empty()) return "Performance hints: none\n";
    std::vector<std::pair<std::string, int64_t>> order(lines_.begin(), lines_.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string out = "Performance hints:\n";
    for (const auto& [line, bytes] : order)
      out += line + "\n";
    return out;
  }

 private:
  Mutex mu_;
  std::map<std::string, int64_t> lines_ GUARDED_BY(mu_);
};

Hints& hints() {
  static auto* h = new Hints;
  return *h;
}

// The reports of --perf-hints and --fullgraph about a function that is interpreted.
void require_compiled(const trace::JitEvent& e, const Options& o) {
  if (e.outcome != trace::JitOutcome::Interpreted) return;
  if (o.perf_hints) hints().add({e.span, fmt::format("{} runs interpreted: {}", e.function, e.reason), 0});
  if (!o.fullgraph) return;
  UserError error = runtime_error(fmt::format("--fullgraph: {} is not compiled: {}", e.function, e.reason));
  error.span = e.span;
  throw error;
}

}  // namespace

Watch::Watch(const Options& o) : options_(o) {
  if (o.mem_profile) memory_ = std::make_unique<MemoryProfile>();
  if (o.is_watched()) trace_ = std::make_unique<TraceObserver>(o);
  if (o.blame) profiler_ = std::make_unique<Profiler>();
  if (trace_ && profiler_) both_ = std::make_unique<Both>(*profiler_, *trace_);
  // A trace or guard must see every call. A user who asks what is compiled sees it at the first call, not only if there
  // is a second one.
  bool asks = o.jit.empty() && o.verbosity > 0;
  trace::set_jit_mode(o.is_watched() ? trace::JitMode::Off : asks ? trace::JitMode::Always : jit_mode(o.jit));
  trace::set_dynamic_mode(dynamic_mode(o.dynamic));
  for (const std::string& name : o.disabled)
    compiler::switch_pass(name, false);
  for (const std::string& name : o.dumped)
    if (!compiler::dump_after(name, [name](const std::string& text) { say_plain("; after " + name + "\n" + text); }))
      throw UsageError(fmt::format("--dump-after: {} leaves no text of its own; --emit=plan shows what it does", name));
  compiler::set_executor(o.backend == "block"    ? compiler::Executor::Block
                         : o.backend == "native" ? compiler::Executor::Native
                                                 : compiler::Executor::Auto);
  if (o.verbosity > 1) trace::g_describe_graphs = true;
  if (std::getenv("SHEAF_DEBUG_GRAD"))
    builtins::g_gradient_listener = [](const Value& f, const graph::Graph& passes) { gradients().show(f, passes); };
  if (o.verbosity > 0 || o.fullgraph || o.perf_hints || memory_)
    trace::set_jit_listener([this, log = JitLog(o.verbosity > 1)](const trace::JitEvent& e) mutable {
      if (options_.verbosity > 0) log.add(e);
      if (e.takes_gradient) checkpoint("after VAG compile");
      require_compiled(e, options_);
    });
  if (memory_) trace::set_gradient_listener([this] { checkpoint("after VAG dispatch"); });
  trace::set_jit_warning([](const std::string& text) { say(text); });
  if (o.perf_hints)
    compiler::g_plan_listener = [](const graph::Graph& g, const auto&, const runtime::Plan& plan, const auto&) {
      for (const compiler::Hint& h : compiler::performance_hints(g, plan))
        hints().add(h);
    };
  if (o.max_autotune)
    kernels::start_tuning(compiler::stored_lines("autotune"),
                          [](const std::string& line) { compiler::store_line("autotune", line); });
  if (o.check) compiler::check_everything();
  if (o.jit_profile || o.blame) runtime::g_profiling = true;
  eval::g_observer = both_ ? both_.get() : trace_ ? static_cast<eval::CallObserver*>(trace_.get()) : profiler_.get();
}

Watch::~Watch() {
  eval::g_observer = nullptr;
  trace::set_jit_listener(nullptr);
  trace::set_gradient_listener(nullptr);
  builtins::g_gradient_listener = nullptr;
  trace::set_jit_warning(nullptr);
  compiler::g_plan_listener = nullptr;
}

void Watch::check_names(const eval::Globals& globals) const {
  for (const std::string& name : options_.traced)
    check_name("--trace", name, options_, globals);
  for (const GuardSpec& g : options_.guards)
    if (!g.function.empty()) check_name("--guard", g.function, options_, globals);
}

void Watch::checkpoint(const char* name) {
  if (memory_) memory_->checkpoint(name);
}

void Watch::report_breach(const builtins::GuardBreach& b) const {
  std::string headline = fmt::format("/!\\ Guard Breached: {}", b.check);
  say_plain(error_look().colour ? "\033[91m" + headline + "\033[0m" : headline);
  if (!b.function.empty()) say("Function: " + b.function);
  say(b.message);
  say_plain(advice::details(b.where, error_look()));
  if (!trace_) return;
  std::string lines = fmt::format("Backtrace (last {} operations):\n", trace_->recent().size());
  for (const std::string& line : trace_->recent())
    lines += "  " + line + "\n";
  say(lines + "--- End of Backtrace ---");
}

int Watch::report_exception() const {
  try {
    throw;
  } catch (const StopError& e) {
    // The terminal has echoed ^C and left the cursor after it.
    if (e.asked_for && is_terminal(STDERR_FILENO)) say_plain("\n");
    say_report(e);
    if (e.asked_for) return kInterruptedStatus;
  } catch (const UserError& e) {
    say_report(e);
  } catch (const builtins::GuardBreach& b) {
    report_breach(b);
  } catch (const builtins::ExitRequest& e) {
    try {
      builtins::flush_out();
    } catch (const UserError& lost) {
      say_report(lost);
      return e.code ? e.code : 1;
    }
    return e.code;
  } catch (const std::bad_alloc&) {
    say("error: out of memory\n\n");
  } catch (const std::exception& e) {
    say(
        fmt::format("internal error: {}\n  = hint: this is a mistake in Sheaf, not in the program; please report it "
                    "with the program\n\n",
                    e.what()));
  }
  return 1;
}

void Watch::report_profiles() {
  eval::g_observer = nullptr;
  if (profiler_) say(profiler_->report() + compiled_blame());
  if (memory_) say(memory_->report());
  if (options_.jit_profile) say(jit_profile_text());
  if (options_.perf_hints) say(hints().text());
  if (options_.max_autotune) say(autotune_text());
}

bool is_silent(const Value& v) {
  if (v.is_nil()) return true;
  if (!v.is_list()) return false;
  for (const Value& x : v.items())
    if (!x.is_nil()) return false;
  return true;
}

}  // namespace sheaf::tools
