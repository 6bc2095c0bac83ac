// --trace, --trace-out and --guard: logs calls as they happen and checks their results.
#pragma once
#include <chrono>
#include <cstdio>
#include <deque>
#include <set>
#include <thread>

#include "eval/vm.h"
#include "tools/command_line.h"

namespace sheaf::tools {

class TraceObserver final : public eval::CallObserver {
 public:
  // Throws UsageError if the file of --trace-out cannot be written.
  explicit TraceObserver(const Options& options);
  ~TraceObserver() override;

  void enter(eval::Callee kind, std::string_view name, std::span<const Value> args) override;
  void leave(eval::Callee kind, std::string_view name, const Value& result) override;
  void unwind(eval::Callee kind, std::string_view name) override;

  // The last lines, oldest first.
  const std::deque<std::string>& recent() const { return recent_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    Clock::time_point start;
    Clock::duration overhead;  // our own time, up to the start
  };
  bool is_watched(eval::Callee kind, std::string_view name) const;
  void check_guards(eval::Callee kind, std::string_view name, const Value& result);
  void finish(std::string_view name, const Value* result, Clock::time_point now);
  void line(std::string text);
  void event(const char* what, std::string_view name, size_t depth, std::vector<std::pair<const char*, Value>> more);

  const bool print_;
  const int level_;
  const std::set<std::string, std::less<>> functions_;
  const std::vector<GuardSpec> guards_;
  const std::thread::id thread_ = std::this_thread::get_id();  // calls on other threads are checked but not logged
  std::FILE* out_ = nullptr;
  std::vector<Open> open_;
  bool breached_ = false;  // the calls around a breached guard end without being logged
  Clock::time_point began_ = Clock::now();
  Clock::duration overhead_{};
  std::deque<std::string> recent_;
};

// A value in a trace: "f32[4x8] [min:-1.37e0 max:2.33e0] (128B)", "list(len:3)" …
std::string trace_text(const Value& v);
// "5.2μs", "0.31ms", "12ms"
std::string trace_time_text(std::chrono::nanoseconds t);

}  // namespace sheaf::tools
