#include "runtime/dependencies.h"

#include <algorithm>
#include <map>

#include "runtime/byte_uses.h"

namespace sheaf::runtime {
namespace {

bool calls_host(const Step& step);
bool calls_host(const std::shared_ptr<const Plan>& plan) {
  return plan && std::any_of(plan->steps.begin(), plan->steps.end(), [](const Step& s) { return calls_host(s); });
}
bool calls_host(const Step& step) {
  if (auto* s = std::get_if<CallStep>(&step)) return calls_host(s->body);
  if (auto* s = std::get_if<CondStep>(&step)) return calls_host(s->yes) || calls_host(s->no);
  if (auto* s = std::get_if<ScanStep>(&step)) return calls_host(s->body);
  if (auto* s = std::get_if<WhileStep>(&step))
    return calls_host(s->test) || calls_host(s->body) || calls_host(s->reverse);
  return std::holds_alternative<HostStep>(step);
}

bool may_fail(const Step& step) {
  bool checks = false;
  each_base(step, [&](const StepBase& s) { checks |= s.checks; });
  return checks;
}

// Walks the steps in order and collects the dependencies of each.
class Walk {
 public:
  explicit Walk(const Plan& plan) : plan_(plan) {}

  std::vector<Dependency> run() {
    for (; now_ < static_cast<int>(plan_.steps.size()); ++now_) {
      const Step& step = plan_.steps[static_cast<size_t>(now_)];
      each_base(step, [&](const StepBase& s) {
        for (const Access& a : s.reads)
          read(a);
        for (const Access& a : s.writes)
          write(a);
      });
      add_effects(step);
      for (const auto& [before, kind] : found_)
        out_.push_back({kind, before, now_});
      found_.clear();
    }
    return std::move(out_);
  }

 private:
  void after(int before, Dependency::Kind kind) {
    if (before >= 0 && before != now_) found_.emplace(before, kind);
  }
  auto by_memory() {
    return [this](int before, Wait why) {
      after(before, why == Wait::ReadAfterWrite   ? Dependency::ReadAfterWrite
                    : why == Wait::WriteAfterRead ? Dependency::WriteAfterRead
                                                  : Dependency::WriteAfterWrite);
    };
  }

  void read(const Access& a) {
    bytes_[buffer_of(a.place, plan_)].read(a.place.offset, a.place.offset + a.bytes, now_, by_memory());
  }
  void write(const Access& a) {
    bytes_[buffer_of(a.place, plan_)].write(a.place.offset, a.place.offset + a.bytes, now_, by_memory());
  }

  void add_effects(const Step& step) {
    const bool host = calls_host(step), fails = may_fail(step);
    bool overwrites = false;
    each_base(step, [&](const StepBase& s) {
      for (const Access& a : s.writes)
        overwrites |= is_donated(a.place, plan_);
    });
    if (host || fails) after(last_host_, Dependency::Effect);
    for (int check : checks_)
      if (overwrites || (host && check > last_host_)) after(check, Dependency::Effect);
    if (host) last_host_ = now_;
    if (fails) checks_.push_back(now_);
  }

  const Plan& plan_;
  int now_ = 0;
  std::map<BufferId, ByteUses> bytes_;
  int last_host_ = -1;
  std::vector<int> checks_;
  std::map<int, Dependency::Kind> found_;  // of the current step
  std::vector<Dependency> out_;
};

}  // namespace

BufferId buffer_of(const Place& p, const Plan& plan) {
  if (p.kind == Place::Scratch) return {Place::Scratch, 0};
  if (is_donated(p, plan)) return {Place::Input, plan.output_buffers[static_cast<size_t>(p.index)].donor};
  return {p.kind, p.index};
}

bool is_donated(const Place& p, const Plan& plan) {
  return p.kind == Place::Output && plan.output_buffers[static_cast<size_t>(p.index)].donor >= 0;
}

std::vector<Dependency> dependencies(const Plan& plan) { return Walk(plan).run(); }

}  // namespace sheaf::runtime
