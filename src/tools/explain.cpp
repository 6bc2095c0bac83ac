// `sheaf explain`: runs a program and says how each of its functions ran, and why.
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>

#include "builtins/host.h"
#include "builtins/output.h"
#include "eval/session.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "tools/terminal.h"
#include "tools/watch.h"
#include "trace/jit.h"

namespace sheaf::tools {
namespace {

// Counts the calls of each function.
class CallCounter final : public eval::CallObserver {
 public:
  CallCounter() : CallObserver(false) {}
  void enter(eval::Callee, std::string_view name, std::span<const Value>) override { add(name, 1); }
  void leave(eval::Callee, std::string_view, const Value&) override {}
  void unwind(eval::Callee, std::string_view) override {}
  void cancel(eval::Callee, std::string_view name) override { add(name, -1); }
  const std::map<std::string, int64_t>& calls() const { return calls_; }

 private:
  void add(std::string_view name, int64_t n) {
    std::lock_guard lock(mu_);
    calls_[std::string(name)] += n;
  }
  std::mutex mu_;
  std::map<std::string, int64_t> calls_;
};

struct Story {
  int variants = 0;
  std::set<std::string> reasons;  // for not compiling
};

std::string line(const std::string& name, int64_t calls, const Story& s, const std::string& at) {
  std::string how = s.variants ? fmt::format("compiled ({} variant{})", s.variants, s.variants == 1 ? "" : "s") : "interpreted";
  std::string out = fmt::format("  {:<30} {:>8} calls  {:<24} {}\n", name, calls, how, at);
  for (const std::string& r : s.reasons) out += fmt::format("  {:<30}   not compiled: {}\n", "", r);
  return out;
}

}  // namespace

int run_explain(const Options& o) {
  if (o.words.empty()) throw UsageError("explain requires a file");
  if (!check_readable(o.words[0])) return 1;
  builtins::set_program_args({o.words.begin() + 1, o.words.end()});
  Watch watch(o);
  CallCounter counter;
  std::map<std::string, Story> stories;
  trace::set_jit_listener([&](const trace::JitEvent& e) {
    if (e.outcome == "compiled") ++stories[e.function].variants;
    else stories[e.function].reasons.insert(e.reason + (e.span ? " at " + place(e.span) : ""));
  });
  eval::g_observer = &counter;
  int status = 0;
  try {
    eval::Session session;
    try {
      session.run_file(o.words[0]);
    } catch (...) {
      status = watch.report_exception();
    }
    eval::g_observer = nullptr;
    std::string out = "How the functions ran (what compiled functions call is part of them):\n";
    std::map<std::string, int64_t> calls = counter.calls();
    for (const auto& [name, story] : stories) calls.emplace(name, 0);
    for (const auto& [name, n] : calls) {
      eval::Cell* cell = session.globals().find_user(Name(name));
      if (n > 0 || stories.count(name)) out += line(name, n, stories[name], cell && cell->user_defined ? place(cell->defined_at) : "library");
    }
    builtins::write_out(out);
    builtins::flush_out();
  } catch (...) {
    status = watch.report_exception();
  }
  eval::g_observer = nullptr;
  return status;
}

}  // namespace sheaf::tools
