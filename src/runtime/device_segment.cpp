// Symbolic addresses: a base number and an offset, encoded as addresses that no machine has. A plan is walked with them
// once; each recording replaces them by the actual addresses.
#include "runtime/device_segment.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/byte_uses.h"
#include "support/error.h"

namespace sheaf::runtime {
namespace {

constexpr uint64_t kMark = uint64_t{1} << 62, kBaseShift = 40, kMiddle = uint64_t{1} << (kBaseShift - 1);
enum : size_t { kScratch, kRecord, kWorkspace, kFirstInput };

std::byte* name_of(size_t base) { return reinterpret_cast<std::byte*>(kMark | base << kBaseShift | kMiddle); }
bool is_name(const std::byte* p) { return reinterpret_cast<uint64_t>(p) & kMark; }
size_t base_of(const std::byte* p) { return (reinterpret_cast<uint64_t>(p) & ~kMark) >> kBaseShift; }
int64_t offset_of(const std::byte* p) {
  return static_cast<int64_t>(reinterpret_cast<uint64_t>(p) & ((uint64_t{1} << kBaseShift) - 1)) -
         static_cast<int64_t>(kMiddle);
}

std::byte* address(std::byte* p, const Bases& bases) { return is_name(p) ? bases[base_of(p)] + offset_of(p) : p; }

// Calls f for each address of a step.
template <class S, class F>
void each_address(S& step, F f) {
  if (auto* l = std::get_if<DeviceLaunch>(&step)) {
    for (auto& b : l->buffers)
      f(b);
    f(l->record);
    f(l->workspace);
  } else {
    auto& c = std::get<DeviceCopy>(step);
    f(c.to);
    f(c.from);
  }
}

bool has_bit(const std::vector<uint64_t>& bits, int i) { return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1; }

}  // namespace

Bases bases_of(const Memory& m, std::byte* record, std::byte* workspace) {
  Bases out{m.scratch, record, workspace};
  out.insert(out.end(), m.inputs.begin(), m.inputs.end());
  out.insert(out.end(), m.results.begin(), m.results.end());
  return out;
}

bool can_be_recorded(const Step& step, const Plan& plan, bool guarded, const Device& device) {
  auto all_inside = [&](const Plan& inside) {
    return std::all_of(inside.steps.begin(), inside.steps.end(),
                       [&](const Step& s) { return can_be_recorded(s, inside, guarded, device); });
  };
  if (auto* l = std::get_if<Launch>(&step)) return device.can_record(*l->kernel, l->sizes, guarded);
  // Copies cannot be guarded: before a copy to donated memory the host checks whether a check has failed.
  if (std::holds_alternative<CopyStep>(step)) return !guarded;
  if (auto* s = std::get_if<CallStep>(&step)) return all_inside(*s->body);
  if (auto* s = std::get_if<ScanStep>(&step)) return (s->turns > 0 || !guarded) && all_inside(*s->body);
  return false;
}

int64_t num_device_steps(const Step& step) {
  auto inside = [](const Plan& plan) {
    int64_t n = 0;
    for (const Step& s : plan.steps)
      n += num_device_steps(s);
    return n;
  };
  if (auto* s = std::get_if<CopyStep>(&step)) return static_cast<int64_t>(s->buffers.size() / 2);
  if (auto* s = std::get_if<CallStep>(&step)) return inside(*s->body);
  if (auto* s = std::get_if<ScanStep>(&step))
    return std::max<int64_t>(static_cast<int64_t>(s->carries.sizes.size()), s->turns * (1 + inside(*s->body)));
  return 1;
}

// Walks the steps with symbolic addresses and finds the dependencies of each.
class SegmentRecorder final : public DeviceWalk {
 public:
  SegmentRecorder(Segment& out, const Plan& plan, const SegmentSteps& which, Device& device)
      : DeviceWalk(device, which.can_fail ? name_of(kRecord) : nullptr, which.guarded),
        out_(out),
        num_inputs_(which.num_inputs) {
    for (const OutputBuffer& o : plan.output_buffers)
      donors_.push_back(o.donor);
  }

  void run(const Plan& plan, const SegmentSteps& which) {
    std::vector<std::byte*> inputs, results;
    for (size_t i = 0; i < num_inputs_; ++i)
      inputs.push_back(name_of(kFirstInput + i));
    for (size_t i = 0; i < donors_.size(); ++i)
      results.push_back(name_of(kFirstInput + num_inputs_ + i));
    const Memory m{inputs, results, name_of(kScratch), {}, {}, &device_};
    for (size_t i = which.first; i < which.last; ++i)
      walk(plan.steps[i], plan, m, which.is_top);
    if (numbers_.empty()) return;
    const size_t bytes = numbers_.size() * sizeof numbers_[0];
    out_.numbers_ = Buffer::allocate(device_, bytes);
    device_.send(reinterpret_cast<const std::byte*>(numbers_.data()), out_.numbers_->address(), bytes);
    auto* const begin = reinterpret_cast<std::byte*>(out_.numbers_->address());
    for (size_t i = 0; i < stores_.size(); ++i)
      std::get<DeviceCopy>(out_.steps_[stores_[i]].step).from = begin + i * sizeof numbers_[0];
  }

  void copy(std::byte* to, const std::byte* from, size_t bytes) override {
    use(from, static_cast<int64_t>(bytes), false);
    use(to, static_cast<int64_t>(bytes), true);
    add({DeviceCopy{to, from, bytes}});
  }
  void store(std::byte* to, int64_t number) override {
    use(to, sizeof number, true);
    stores_.push_back(out_.steps_.size());
    numbers_.push_back(number);
    add({DeviceCopy{to, nullptr, sizeof number}});
  }
  void fetch(std::span<const Fetch>) override { INVARIANT(false, "a segment asks the host"); }
  Ref<Buffer> allocate(size_t) override {
    INVARIANT(false, "a segment takes memory");
    return {};
  }
  void run_nested(const Plan& plan, const Memory& memory) override {
    Memory here = memory;
    here.space = &device_;
    for (const Step& step : plan.steps)
      walk(step, plan, here, false);
  }

 private:
  void launch(DeviceLaunch launch, const Launch& l, const Plan& plan, const Memory& m) override {
    for (const Access& a : l.reads)
      use(runtime::address(a.place, plan, m), a.bytes, false);
    for (const Access& a : l.writes)
      use(runtime::address(a.place, plan, m), a.bytes, true);
    // Donated memory is written only after all earlier checks.
    if (launch.guarded) found_.insert(checks_.begin(), checks_.end());
    if (l.checks) {
      launch.number = static_cast<int>(out_.labels_.size());
      out_.labels_.push_back(l.label);
      checks_.push_back(now());
    }
    add({std::move(launch), l.is_copy});
  }

  int now() const { return static_cast<int>(out_.steps_.size()); }

  // Records an access of the current step. Constants (no symbolic address) are never written, so they are skipped.
  void use(const std::byte* p, int64_t bytes, bool writes) {
    if (!is_name(p) || bytes == 0) return;
    size_t base = base_of(p);
    // A donated input and its output are the same memory.
    if (base >= kFirstInput + num_inputs_)
      if (const int donor = donors_[base - kFirstInput - num_inputs_]; donor >= 0)
        base = kFirstInput + static_cast<size_t>(donor);
    auto after = [&](int before, Wait) {
      if (before != now()) found_.insert(before);
    };
    const int64_t begin = offset_of(p);
    if (writes)
      uses_[base].write(begin, begin + bytes, now(), after);
    else
      uses_[base].read(begin, begin + bytes, now(), after);
  }

  // Adds a step with its dependencies, without those implied by others (transitive reduction).
  void add(Segment::Part part) {
    std::vector<uint64_t> before(static_cast<size_t>(now()) / 64 + 1);
    std::vector<int> after;
    for (auto it = found_.rbegin(); it != found_.rend(); ++it) {
      if (has_bit(before, *it)) continue;
      after.push_back(*it);
      const std::vector<uint64_t>& theirs = out_.before_[static_cast<size_t>(*it)];
      for (size_t w = 0; w < theirs.size(); ++w)
        before[w] |= theirs[w];
      before[static_cast<size_t>(*it) / 64] |= uint64_t{1} << (*it % 64);
    }
    found_.clear();
    out_.steps_.push_back(std::move(part));
    out_.after_.push_back(std::move(after));
    out_.before_.push_back(std::move(before));
  }

  Segment& out_;
  const size_t num_inputs_;
  std::vector<int> donors_;          // by output
  std::map<size_t, ByteUses> uses_;  // by base
  std::vector<int> checks_;          // steps that may fail
  std::set<int> found_;              // dependencies of the current step
  std::vector<size_t> stores_;       // steps that copy the numbers, in order
  std::vector<int64_t> numbers_;
};

Segment::Segment(const Plan& plan, const SegmentSteps& which, Device& device) {
  SegmentRecorder(*this, plan, which, device).run(plan, which);
  choose_workspaces(device);
  before_.clear();
}

// Assigns workspaces from a few slots. Steps that share a slot are ordered by dependencies; steps that could run
// concurrently get different slots. If that needs too many slots or too much memory, adds a dependency instead.
void Segment::choose_workspaces(Device& device) {
  constexpr size_t kMaxPlaces = 8;
  // A step with a workspace of this size keeps the device busy by itself.
  constexpr size_t kLarge = 64 << 20;
  struct Room {
    int user;
    size_t bytes;
    std::vector<size_t> users;
  };
  std::vector<Room> rooms;
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto* l = std::get_if<DeviceLaunch>(&steps_[i].step);
    const size_t bytes = l ? device.workspace_bytes(*l) : 0;
    if (bytes == 0) continue;
    // Among the free slots, take the one that has to grow least; among equals the smallest.
    auto room = rooms.end();
    auto cost = [&](const Room& r) { return std::pair(bytes > r.bytes ? bytes - r.bytes : 0, r.bytes); };
    for (auto r = rooms.begin(); r != rooms.end(); ++r)
      if (has_bit(before_[i], r->user) && (room == rooms.end() || cost(*r) < cost(*room))) room = r;
    if (bytes >= kLarge && (room == rooms.end() || room->bytes < bytes)) {
      const auto large = std::find_if(rooms.begin(), rooms.end(), [&](const Room& r) { return r.bytes >= bytes; });
      if (large != rooms.end()) {
        room = large;
        after_[i].push_back(room->user);
      }
    }
    if (room == rooms.end() && rooms.size() == kMaxPlaces) {
      room = std::min_element(rooms.begin(), rooms.end(), [](const Room& a, const Room& b) { return a.user < b.user; });
      after_[i].push_back(room->user);
    }
    if (room == rooms.end()) room = rooms.insert(room, Room{});
    room->user = static_cast<int>(i);
    room->bytes = std::max(room->bytes, bytes);
    room->users.push_back(i);
  }
  for (const Room& r : rooms) {
    for (size_t i : r.users) {
      auto& l = std::get<DeviceLaunch>(steps_[i].step);
      l.workspace = name_of(kWorkspace) + workspace_bytes_;
      l.workspace_bytes = r.bytes;
    }
    workspace_bytes_ += (r.bytes + 255) / 256 * 256;
  }
}

DeviceStep Segment::step(size_t i, const Bases& bases) const {
  DeviceStep out = steps_[i].step;
  each_address(out, [&](auto& p) { p = address(const_cast<std::byte*>(p), bases); });
  if (auto* l = std::get_if<DeviceLaunch>(&out); l && steps_[i].is_copy && l->buffers[0] == l->buffers[1])
    return DeviceCopy{};
  return out;
}

bool Segment::differs(size_t i, const Bases& a, const Bases& b) const {
  bool found = false;
  each_address(steps_[i].step, [&](const std::byte* p) { found |= is_name(p) && a[base_of(p)] != b[base_of(p)]; });
  return found;
}

}  // namespace sheaf::runtime
