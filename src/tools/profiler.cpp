#include "tools/profiler.h"

#include <fmt/format.h>

#include <algorithm>

namespace sheaf::tools {
namespace {

constexpr size_t kNameColumn = 30;
constexpr double kTableShare = 0.001, kTreeShare = 0.01;  // of wall time, below which entries are merged

std::string cut(const std::string& name) {
  return name.size() <= kNameColumn ? name : name.substr(0, kNameColumn - 3) + "...";
}

int64_t ns_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(b - a).count();
}

}  // namespace

std::string duration_text(int64_t ns) {
  double t = static_cast<double>(ns);
  if (t < 1e3) return fmt::format("{}ns", ns);
  if (t < 1e6) return fmt::format("{:.1f}μs", t / 1e3);
  if (t < 1e9) return fmt::format("{:.2f}ms", t / 1e6);
  return fmt::format("{:.2f}s", t / 1e9);
}

int Profiler::id_of(std::string_view name) {
  auto it = ids_.find(name);
  if (it != ids_.end()) return it->second;
  int id = static_cast<int>(names_.size());
  names_.emplace_back(name);
  counts_.emplace_back();
  ids_.emplace(names_.back(), id);
  return id;
}

void Profiler::enter(eval::Callee, std::string_view name, std::span<const Value>) {
  if (std::this_thread::get_id() != thread_) return;
  int id = id_of(name);
  Edge& edge = callees_[open_.empty() ? kProgram : open_.back().function][id];
  ++edge.calls;
  ++edge.active;
  ++counts_[id].calls;
  ++counts_[id].active;
  open_.push_back({id, &edge, Clock::now(), 0});
}

void Profiler::close() {
  if (std::this_thread::get_id() != thread_ || open_.empty()) return;
  Open top = open_.back();
  open_.pop_back();
  int64_t ns = ns_between(top.start, Clock::now());
  Counts& c = counts_[top.function];
  c.self_ns += ns - top.child_ns;
  if (--c.active == 0) c.total_ns += ns;
  if (--top.edge->active == 0) top.edge->total_ns += ns;
  if (!open_.empty()) open_.back().child_ns += ns;
}

// The caller is charged with the time.
void Profiler::cancel(eval::Callee, std::string_view) {
  if (std::this_thread::get_id() != thread_ || open_.empty()) return;
  Open top = open_.back();
  open_.pop_back();
  --counts_[top.function].calls;
  --counts_[top.function].active;
  --top.edge->calls;
  --top.edge->active;
}

std::string Profiler::table(int64_t wall_ns) const {
  std::vector<int> order(names_.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return counts_[a].self_ns > counts_[b].self_ns; });
  std::string out =
      fmt::format("  {:<30}{:>9}{:>11}{:>11}{:>11}\n  {:-<72}\n", "Function", "Calls", "Total", "Self", "Avg/call", "");
  int64_t others = 0, other_calls = 0, other_ns = 0;
  for (int f : order) {
    const Counts& c = counts_[f];
    if (static_cast<double>(c.self_ns) < kTableShare * static_cast<double>(wall_ns)) {
      ++others;
      other_calls += c.calls;
      other_ns += c.self_ns;
      continue;
    }
    out += fmt::format("  {:<30}{:>9}{:>11}{:>11}{:>11}\n", cut(names_[f]), c.calls, duration_text(c.total_ns),
                       duration_text(c.self_ns), duration_text(c.total_ns / std::max<int64_t>(c.calls, 1)));
  }
  if (others)
    out += fmt::format("  {:<30}{:>9}{:>11}{:>11}\n", fmt::format("... {} others", others), other_calls, "",
                       duration_text(other_ns));
  return out;
}

void Profiler::tree(std::string& out, int caller, const std::string& indent, int64_t wall_ns, std::vector<int>& path,
                    std::vector<bool>& shown) const {
  auto it = callees_.find(caller);
  if (it == callees_.end()) return;
  std::vector<std::pair<int, const Edge*>> children;
  int64_t others = 0, other_calls = 0, other_ns = 0;
  for (const auto& [f, edge] : it->second) {
    if (static_cast<double>(edge.total_ns) >= kTreeShare * static_cast<double>(wall_ns)) {
      children.push_back({f, &edge});
      continue;
    }
    ++others;
    other_calls += edge.calls;
    other_ns += edge.total_ns;
  }
  std::stable_sort(children.begin(), children.end(),
                   [](auto& a, auto& b) { return a.second->total_ns > b.second->total_ns; });
  for (size_t i = 0; i < children.size(); ++i) {
    auto [f, edge] = children[i];
    bool last = i + 1 == children.size() && others == 0;
    bool recursive = std::find(path.begin(), path.end(), f) != path.end();
    bool repeated = !recursive && shown[f] && callees_.count(f);
    out += fmt::format("{}{} {} ({}, {} calls){}\n", indent, last ? "└──" : "├──", names_[f],
                       duration_text(edge->total_ns), edge->calls,
                       recursive  ? " [recursive]"
                       : repeated ? " [see above]"
                                  : "");
    if (recursive || repeated) continue;
    shown[f] = true;
    path.push_back(f);
    tree(out, f, indent + (last ? "    " : "│   "), wall_ns, path, shown);
    path.pop_back();
  }
  if (others)
    out += fmt::format("{}└── ... {} others ({}, {} calls)\n", indent, others, duration_text(other_ns), other_calls);
}

std::string Profiler::report() const {
  int64_t wall_ns = ns_between(began_, Clock::now());
  std::string out = fmt::format("Profiler: {} wall\n\n{}\n  Call tree:\n", duration_text(wall_ns), table(wall_ns));
  std::vector<int> path;
  std::vector<bool> shown(names_.size());
  tree(out, kProgram, "  ", wall_ns, path, shown);
  return out;
}

}  // namespace sheaf::tools
