#include "fuzz/harness.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "advice/report.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

#include <execinfo.h>
#include <sys/time.h>
#include <unistd.h>

#include "builtins/host/guard.h"
#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "eval/session.h"
#include "eval/vm.h"
#include "graph/engine.h"
#include "trace/jit.h"
#include "value/print.h"

namespace fuzz {
namespace {

using namespace sheaf;

// Limits of processor time; the limit of elapsed time is longer, since the machine may be busy. Sanitizers take ten
// times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kHangSeconds = 200, kHangWallSeconds = 900;
#else
constexpr unsigned kHangSeconds = 20, kHangWallSeconds = 300;
#endif

int g_failures = 0;
std::string g_program;
char g_seed_text[64];

void write_all(const char* text, size_t n) {
  while (n > 0) {
    ssize_t k = write(1, text, n);
    if (k <= 0) return;
    text += k;
    n -= static_cast<size_t>(k);
  }
}

// Counts ops on their way to the engine that applies them.
class CountingEngine final : public graph::Engine {
 public:
  std::vector<graph::Operand> apply(const graph::OpDef& op, std::vector<graph::Operand> inputs,
                                    graph::Attrs attrs) override {
    ++counts[&op];
    return inner->apply(op, std::move(inputs), std::move(attrs));
  }
  std::vector<graph::Operand> apply_control(Ref<graph::Node> node) override {
    ++counts[node->op];
    return inner->apply_control(std::move(node));
  }
  graph::Engine* inner = nullptr;
  std::unordered_map<const graph::OpDef*, int64_t> counts;
};
CountingEngine g_counting;

// A session installs its own engine.
void count_ops() {
  if (&graph::engine() == &g_counting) return;
  g_counting.inner = &graph::engine();
  graph::install_engine(&g_counting);
}

extern "C" void on_crash(int signal) {
  const char* what = signal == SIGALRM || signal == SIGPROF ? "\nHANG " : signal == SIGABRT ? "\nABORT " : "\nCRASH ";
  write_all(what, std::strlen(what));
  write_all(g_seed_text, std::strlen(g_seed_text));
  write_all(g_program.data(), g_program.size());
  write_all("\n", 1);
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), 1);
  _exit(1);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// The undefined-behaviour sanitizer writes to stderr, which is silenced, and does not know seeds: it calls this
// function before it ends the program.
extern "C" void __attribute__((weak)) __ubsan_get_current_report_data(const char**, const char**, const char**,
                                                                      unsigned*, unsigned*, char**);
extern "C" void __ubsan_on_report() {
  const char *kind = "", *message = "", *file = "";
  unsigned line = 0, column = 0;
  char* address = nullptr;
  __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
  char text[512];
  std::snprintf(text, sizeof text, "%s:%u:%u: %s: %s", file, line, column, kind, message);
  write_all(text, std::strlen(text));
  on_crash(0);
}
#endif

CrashHandlers::CrashHandlers() {
  // A stack of its own, so that an overflow of the ordinary one can be reported.
  static std::vector<char> stack(1 << 16);
  stack_t s{};
  s.ss_sp = stack.data();
  s.ss_size = stack.size();
  sigaltstack(&s, &before_);
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGPROF})
    sigaction(signal, &action, nullptr);
}

CrashHandlers::~CrashHandlers() { sigaltstack(&before_, nullptr); }

void silence_warnings() {
  std::freopen("/dev/null", "w", stderr);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  __sanitizer_set_report_fd(reinterpret_cast<void*>(intptr_t{1}));
#endif
}

void limit_time(unsigned cpu_seconds, unsigned wall_seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = cpu_seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(wall_seconds);
}

void set_current(uint64_t seed, const std::string& program) {
  g_program = program;
  std::snprintf(g_seed_text, sizeof g_seed_text, "--seed %llu\n", static_cast<unsigned long long>(seed));
}

Outcome run(const std::string& program, int64_t fuel, bool compiled) {
  Outcome out;
  trace::set_jit_mode(compiled ? trace::JitMode::Always : trace::JitMode::Off);
  std::string* previous = builtins::set_capture(&out.output);
  eval::g_fuel = fuel;
  limit_time(kHangSeconds, kHangWallSeconds);
  try {
    eval::Session session;
    count_ops();
    out.value = session.run_text(program);
    out.text = render(out.value);
  } catch (const UserError& e) {
    out.kind = Outcome::Error;
    out.text = e.message;
    advice::report(e);  // must not fail either
  } catch (const builtins::GuardBreach& b) {
    out.kind = Outcome::Error;
    out.text = b.message;
  } catch (const builtins::ExitRequest&) {
    out.kind = Outcome::Error;
    out.text = "exit";
  } catch (const std::exception& e) {
    out.kind = Outcome::Internal;
    out.text = e.what();
  } catch (...) {
    out.kind = Outcome::Internal;
    out.text = "unknown exception";
  }
  limit_time(0, 0);
  trace::forget_compiled();  // it holds constants of the program
  eval::g_fuel = -1;
  builtins::set_capture(previous);
  return out;
}

void fail(uint64_t seed, const std::string& program, const std::string& why) {
  ++g_failures;
  std::printf("FAILED --seed %llu: %s\n%s\n\n", static_cast<unsigned long long>(seed), why.c_str(), program.c_str());
  std::fflush(stdout);
}

int64_t applied(const graph::OpDef& op) { return g_counting.counts[&op]; }

int failures() { return g_failures; }

}  // namespace fuzz
