// Running a file or an expression, and `sheaf explain`.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "builtins/host.h"
#include "builtins/output.h"
#include "eval/session.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "tools/terminal.h"
#include "tools/watch.h"
#include "value/print.h"

namespace sheaf::tools {

std::optional<std::string> why_unreadable(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return std::strerror(EISDIR);
  if (std::ifstream(path, std::ios::binary)) return std::nullopt;
  return std::strerror(errno);
}

bool check_readable(const std::string& path) {
  auto why = why_unreadable(path);
  if (why) say(fmt::format("sheaf: cannot read '{}': {}", path, *why));
  return !why;
}

int run_program(const Options& o) {
  if (o.mode == Mode::File && !check_readable(o.target)) return 1;
  builtins::set_program_args(o.words);
  Watch watch(o);
  int status = 0;
  try {
    eval::Session session;
    watch.checkpoint("after init");
    Value v = o.mode == Mode::File ? session.run_file(o.target) : session.run_text(o.target);
    watch.checkpoint("after eval");
    bool hidden = o.blame && !o.mem_profile;
    if (!hidden && !is_silent(v)) builtins::write_out(render(v) + "\n");
    builtins::flush_out();
  } catch (...) {
    status = watch.report_exception();
  }
  watch.report_profiles();
  return status;
}

namespace {

// Counts the calls of each function.
class CallCounter final : public eval::CallObserver {
 public:
  CallCounter() : CallObserver(false) {}
  void enter(eval::Callee, std::string_view name, std::span<const Value>) override {
    std::lock_guard lock(mu_);
    ++calls_[std::string(name)];
  }
  void leave(eval::Callee, std::string_view, const Value&) override {}
  void unwind(eval::Callee, std::string_view) override {}
  const std::map<std::string, int64_t>& calls() const { return calls_; }

 private:
  std::mutex mu_;
  std::map<std::string, int64_t> calls_;
};

}  // namespace

int run_explain(const Options& o) {
  if (o.words.empty()) throw UsageError("explain requires a file");
  if (!check_readable(o.words[0])) return 1;
  builtins::set_program_args({o.words.begin() + 1, o.words.end()});
  Watch watch(o);
  CallCounter counter;
  int status = 0;
  try {
    eval::g_observer = &counter;
    eval::Session session;
    try {
      session.run_file(o.words[0]);
    } catch (...) {
      status = watch.report_exception();
    }
    eval::g_observer = nullptr;
    builtins::write_out(fmt::format("{} functions were called:\n", counter.calls().size()));
    for (const auto& [name, calls] : counter.calls()) {
      eval::Cell* cell = session.globals().find_user(Name(name));
      std::string at = cell && cell->user_defined ? place(cell->defined_at) : "library";
      builtins::write_out(fmt::format("  {:<30} {:>8} calls  interpreted  {}\n", name, calls, at));
    }
    builtins::flush_out();
  } catch (...) {
    status = watch.report_exception();
  }
  eval::g_observer = nullptr;
  return status;
}

}  // namespace sheaf::tools
