#include "runtime/device_walk.h"

#include <algorithm>
#include <limits>

#include "runtime/dependencies.h"
#include "support/error.h"

namespace sheaf::runtime {
namespace {

bool can_fail(const Step& step);
bool can_fail(const std::shared_ptr<const Plan>& plan) { return plan && can_fail(*plan); }
bool can_fail(const Step& step) {
  if (auto* s = std::get_if<Launch>(&step)) return s->checks;
  if (auto* s = std::get_if<CallStep>(&step)) return can_fail(s->body);
  if (auto* s = std::get_if<CondStep>(&step)) return can_fail(s->yes) || can_fail(s->no);
  if (auto* s = std::get_if<ScanStep>(&step)) return can_fail(s->body);
  if (auto* s = std::get_if<WhileStep>(&step)) return can_fail(s->test) || can_fail(s->body) || can_fail(s->reverse);
  return false;
}

}  // namespace

SmallVec<ByteRange, 16> ranges_of(const Launch& l) {
  SmallVec<ByteRange, 16> out;
  for (const Place& p : l.buffers) {
    const int64_t none = std::numeric_limits<int64_t>::max();
    int64_t first = none, end = 0;
    auto add = [&](const Access& a) {
      const Place& at = a.place;
      if (at.kind != p.kind || at.index != p.index) return;
      // An access belongs to this buffer if it begins at or encloses its address: a flipped array begins before it.
      if (at.offset != p.offset && (at.offset > p.offset || at.offset + a.bytes <= p.offset)) return;
      first = std::min(first, at.offset - p.offset);
      end = std::max(end, at.offset - p.offset + a.bytes);
    };
    std::for_each(l.reads.begin(), l.reads.end(), add);
    std::for_each(l.writes.begin(), l.writes.end(), add);
    out.push_back(first == none ? ByteRange{} : ByteRange{first, end - first});
  }
  return out;
}

bool can_fail(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& s) { return can_fail(s); });
}

bool writes_given_up(const Step& step, const Plan& plan) {
  bool found = false;
  each_base(step, [&](const StepBase& s) {
    for (const Access& a : s.writes)
      found |= is_donated(a.place, plan);
  });
  return found;
}

void DeviceWalk::walk(const Step& step, const Plan& plan, const Memory& m, bool is_top) {
  if (is_top) guarded_ = record_ && writes_given_up(step, plan);
  std::visit([&](const auto& s) { run_one(s, plan, m); }, step);
}

void DeviceWalk::run_one(const Launch& l, const Plan& plan, const Memory& m) {
  DeviceLaunch out{l.kernel, pointers(l, plan, m), l.sizes};
  if (device_.needs_ranges(*l.kernel)) out.ranges = ranges_of(l);
  out.guarded = guarded_;
  if (l.checks || guarded_) out.record = record_;
  launch(std::move(out), l, plan, m);
}

void DeviceWalk::run_one(const ProductStep& step, const Plan&, const Memory&) {
  INVARIANT(false, step.name << " is planned as one step for a device that runs none");
}

void DeviceWalk::run_one(const CopyStep& step, const Plan& plan, const Memory& m) {
  const Pointers p = pointers(step, plan, m);
  for (size_t i = 0; i < p.size() && step.size_bytes; i += 2)
    copy(p[i + 1], p[i], static_cast<size_t>(step.size_bytes));
}

}  // namespace sheaf::runtime
