#include "compiler/launch_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/dependencies.h"

namespace sheaf::compiler {
namespace {

using runtime::Access;
using runtime::Launch;
using runtime::Plan;
using runtime::Step;

// Byte ranges, by buffer.
class Ranges {
 public:
  explicit Ranges(const Plan& plan) : plan_(plan) {}
  void add(const Access& a) {
    const int64_t begin = a.place.offset;
    all_[runtime::buffer_of(a.place, plan_)].emplace_back(begin, begin + a.bytes);
  }
  bool meets(const Access& a) const {
    auto found = all_.find(runtime::buffer_of(a.place, plan_));
    if (found == all_.end()) return false;
    const int64_t begin = a.place.offset, end = begin + a.bytes;
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](const auto& r) { return begin < r.second && r.first < end; });
  }

 private:
  const Plan& plan_;
  std::map<runtime::BufferId, std::vector<std::pair<int64_t, int64_t>>> all_;
};

// Launches that may become a table, and the bytes they access.
struct Group {
  size_t most;
  std::vector<size_t> steps;
  Ranges reads, writes;
};

class Tables {
 public:
  Tables(Plan& plan, const TableMaker& maker) : plan_(plan), maker_(maker) {}

  void run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      take(i);
    while (!open_.empty())
      close(open_.begin());
    if (tables_.empty()) return;
    std::vector<Step> steps;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (auto table = tables_.find(i); table != tables_.end())
        steps.emplace_back(joined(table->second));
      else if (!gone_[i])
        steps.push_back(std::move(plan_.steps[i]));
    }
    plan_.steps = std::move(steps);
  }

 private:
  using Open = std::map<std::string, Group>;

  void take(size_t i) {
    const Step& step = plan_.steps[i];
    for (auto at = open_.begin(); at != open_.end();)
      at = meets(step, at->second) ? close(at) : std::next(at);
    auto* const l = std::get_if<Launch>(&step);
    if (!l || l->checks || l->is_copy || l->packed) return;
    const auto kind = maker_.kind(*l);
    if (!kind || kind->most < 2) return;
    auto at = open_.try_emplace(kind->text, Group{kind->most, {}, Ranges(plan_), Ranges(plan_)}).first;
    Group& g = at->second;
    g.steps.push_back(i);
    for (const Access& a : l->reads)
      g.reads.add(a);
    for (const Access& a : l->writes)
      g.writes.add(a);
    if (g.steps.size() == g.most) close(at);
  }

  // True if the step must run between launches of the group, or conflicts with them.
  static bool meets(const Step& step, const Group& g) {
    bool found = std::holds_alternative<runtime::HostStep>(step);
    runtime::each_base(step, [&](const runtime::StepBase& s) {
      auto in = [](const Ranges& r) { return [&r](const Access& a) { return r.meets(a); }; };
      found = found || std::any_of(s.reads.begin(), s.reads.end(), in(g.writes)) ||
              std::any_of(s.writes.begin(), s.writes.end(), in(g.writes)) ||
              std::any_of(s.writes.begin(), s.writes.end(), in(g.reads));
    });
    return found;
  }

  Open::iterator close(Open::iterator at) {
    const std::vector<size_t>& steps = at->second.steps;
    if (steps.size() > 1) {
      gone_.resize(plan_.steps.size(), false);
      for (size_t i : steps)
        gone_[i] = true;
      tables_[steps.back()] = steps;
    }
    return open_.erase(at);
  }

  Launch joined(const std::vector<size_t>& steps) {
    Launch out;
    for (size_t i : steps) {
      auto& l = std::get<Launch>(plan_.steps[i]);
      if (i == steps[0]) {
        out.kernel = maker_.code(l, steps.size());
        out.name = fmt::format("{} x {}", steps.size(), l.name);
        out.label = l.label;
        out.span = l.span;
      }
      auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
      append(out.buffers, l.buffers);
      append(out.reads, l.reads);
      append(out.writes, l.writes);
      append(out.sizes, l.sizes);
      out.flops += l.flops;
      out.bytes += l.bytes;
    }
    return out;
  }

  Plan& plan_;
  const TableMaker& maker_;
  Open open_;                                     // by TableMaker::Kind::text
  std::map<size_t, std::vector<size_t>> tables_;  // by the last step of each
  std::vector<bool> gone_;                        // by step: it is in a table
};

}  // namespace

void make_tables(Plan& plan, const TableMaker& maker) { Tables(plan, maker).run(); }

}  // namespace sheaf::compiler
