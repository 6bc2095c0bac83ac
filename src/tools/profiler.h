// --blame: the number of calls of every function, their callers, and where the time was spent.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "eval/vm.h"

namespace sheaf::tools {

class Profiler final : public eval::CallObserver {
 public:
  Profiler() : CallObserver(true) {}

  void enter(eval::Callee kind, std::string_view name, std::span<const Value> args) override;
  void leave(eval::Callee kind, std::string_view name, const Value& result) override { close(); }
  void unwind(eval::Callee kind, std::string_view name) override { close(); }
  void cancel(eval::Callee kind, std::string_view name) override;

  // The table and the call tree.
  std::string report() const;

 private:
  using Clock = std::chrono::steady_clock;
  // Times are inclusive; for nested activations only the outermost counts.
  struct Counts {
    int64_t calls = 0, total_ns = 0, self_ns = 0;
    int active = 0;
  };
  struct Edge {
    int64_t calls = 0, total_ns = 0;
    int active = 0;
  };
  struct Open {
    int function;
    Edge* edge;
    Clock::time_point start;
    int64_t child_ns = 0;
  };
  static constexpr int kProgram = -1;  // the caller of functions called by top-level forms

  void close();
  int id_of(std::string_view name);
  std::string table(int64_t wall_ns) const;
  void tree(std::string& out, int caller, const std::string& indent, int64_t wall_ns, std::vector<int>& path,
            std::vector<bool>& shown) const;

  const std::thread::id thread_ = std::this_thread::get_id();
  const Clock::time_point began_ = Clock::now();
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, int> ids_;
  std::deque<Counts> counts_;
  std::map<int, std::map<int, Edge>> callees_;
  std::vector<Open> open_;
};

// "840ns", "12.3μs", "6.35ms", "3.17s"
std::string duration_text(int64_t ns);

}  // namespace sheaf::tools
