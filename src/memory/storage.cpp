#include "memory/storage.h"

#include <algorithm>

#include "memory/offsets.h"

namespace sheaf::memory {

bool Stored::is_contiguous() const {
  Tensor t;
  t.sizes = sizes;
  t.strides = strides;
  return t.is_contiguous();
}

int Storage::add(Memory m) {
  memories_.push_back(m);
  return static_cast<int>(memories_.size()) - 1;
}

Stored Storage::input(int index, DType dtype, const Dims& sizes) {
  int64_t bytes = checked_num_elems(sizes) * size_bytes(dtype);
  return {add({Place::Input, index, bytes}), 0, sizes, contiguous_strides(sizes), dtype};
}

Stored Storage::constant(const Tensor& t) {
  plan_.constants.push_back(t);
  return {add({Place::Constant, static_cast<int>(plan_.constants.size()) - 1, 0}), 0, t.sizes, t.strides, t.dtype};
}

Stored Storage::fresh(DType dtype, const Dims& sizes) {
  int64_t bytes = checked_num_elems(sizes) * size_bytes(dtype);
  return {add({Place::Scratch, -1, bytes}), 0, sizes, contiguous_strides(sizes), dtype};
}

void Storage::add(runtime::Step step, const std::vector<StepArray>& arrays) {
  const int number = next_step();
  each_base(step, [&](const runtime::StepBase& s) {
    if (s.checks) last_check_ = number;
  });
  for (const auto& [s, written] : arrays) {
    Memory& m = memories_[s.memory];
    if (m.first < 0) m.first = number;
    m.last = std::max(m.last, number);
    const int64_t size = size_bytes(s.dtype);
    const Extent extent = extent_of(s.sizes, s.strides);
    uses_.push_back({s.memory, s.offset * size, (s.offset + extent.first) * size, extent.count * size, written});
  }
  plan_.steps.push_back(std::move(step));
}

void Storage::drop(const Stored& s) {
  memories_[s.memory].bytes = 0;
  memories_[s.memory].dropped = true;
}

void Storage::may_write_over(const Stored& in, const Stored& out) {
  overwrites_.push_back({next_step(), in.memory, out.memory});
}

bool Storage::is_own(const Stored& s) const {
  const Memory& m = memories_[s.memory];
  return m.kind == Place::Scratch && s.offset == 0 && s.is_contiguous() &&
         checked_num_elems(s.sizes) * size_bytes(s.dtype) == m.bytes;
}

void Storage::output(const Stored& s) {
  Memory& m = memories_[s.memory];
  if (m.kind == Place::Scratch) {
    m.kind = Place::Output;
    m.index = static_cast<int>(plan_.output_buffers.size());
    plan_.output_buffers.push_back({m.bytes, -1});
  }
  m.last = next_step();
  m.returned = true;
  plan_.outputs.push_back({s.dtype, s.sizes, s.strides, {m.kind, m.index, s.offset * size_bytes(s.dtype)}, s.memory});
}

// An output may take over the memory of an input that no step reads after the output is written. Writes before a check
// that may fail must not destroy an input: if the check fails, the call is interpreted from its arguments.
void Storage::choose_donations() {
  std::vector<bool> taken(memories_.size(), false);
  auto donate = [&](int in, int out) {
    plan_.output_buffers[memories_[out].index].donor = memories_[in].index;
    taken[in] = taken[out] = true;
  };
  auto possible = [&](int in, int out) {
    const Memory &i = memories_[in], &o = memories_[out];
    return i.kind == Place::Input && o.kind == Place::Output && !i.returned && !taken[in] && !taken[out] &&
           i.bytes == o.bytes && i.bytes > 0 && o.first > last_check_;
  };
  // First elementwise updates in place: each element overwrites the element that it was computed from.
  for (const Overwrite& w : overwrites_)
    if (possible(w.in, w.out) && memories_[w.in].last == w.step) donate(w.in, w.out);
  std::vector<int> inputs, outputs;
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (memories_[i].kind == Place::Input) inputs.push_back(static_cast<int>(i));
    if (memories_[i].kind == Place::Output) outputs.push_back(static_cast<int>(i));
  }
  for (int out : outputs) {
    if (taken[out]) continue;
    auto in = std::find_if(inputs.begin(), inputs.end(),
                           [&](int i) { return possible(i, out) && memories_[i].last < memories_[out].first; });
    if (in != inputs.end()) donate(*in, out);
  }
}

// If scratch is last used in a step that may write other scratch, or an output with memory of its own, over it, the two
// share one memory.
void Storage::merge_scratch(std::vector<int>& same) {
  auto find = [&](int m) {
    while (same[m] != m)
      m = same[m];
    return m;
  };
  // An output may replace one array only: if it replaced two arrays of a step (a product and an array that its epilogue
  // reads), these two would share memory while both are alive.
  std::vector<bool> replaces(memories_.size(), false);
  for (const Overwrite& w : overwrites_) {
    int in = find(w.in), out = w.out;
    if (in == out || same[out] != out || replaces[out]) continue;
    Memory &i = memories_[in], &o = memories_[out];
    if (i.kind != Place::Scratch || i.bytes != o.bytes || i.last != w.step || o.first != w.step) continue;
    if (o.kind == Place::Scratch) {
      i.last = o.last;
      same[out] = in;
    } else if (o.kind == Place::Output && plan_.output_buffers[o.index].donor < 0) {
      o.first = i.first;
      same[in] = out;
      replaces[out] = true;
    }
  }
}

void Storage::place(const Sharing& sharing) {
  if (!sharing.in_place)
    overwrites_.clear();
  else
    choose_donations();
  std::vector<int> same(memories_.size());
  for (size_t i = 0; i < same.size(); ++i)
    same[i] = static_cast<int>(i);
  merge_scratch(same);
  std::vector<Lifetime> lifetimes;
  std::vector<int> which;
  for (size_t i = 0; i < memories_.size(); ++i)
    if (memories_[i].kind == Place::Scratch && memories_[i].first >= 0 && same[i] == static_cast<int>(i)) {
      const Memory& m = memories_[i];
      lifetimes.push_back({m.bytes, sharing.reuse_scratch ? m.first : 0, sharing.reuse_scratch ? m.last : next_step()});
      which.push_back(static_cast<int>(i));
    }
  MemoryPlan plan = plan_memory(lifetimes, sharing.alignment_bytes);
  plan_.scratch_bytes = plan.total_bytes;
  std::vector<int64_t> base(memories_.size(), 0);
  for (size_t i = 0; i < which.size(); ++i)
    base[which[i]] = plan.offsets[i];
  auto use = uses_.begin();
  auto place_buffers = [&](runtime::StepBase& s) {
    for (Place& p : s.buffers) {
      int m = use->memory;
      while (same[m] != m)
        m = same[m];
      p = {memories_[m].kind, memories_[m].index, base[m] + use->offset_bytes};
      if (use->bytes > 0 && !memories_[use->memory].dropped)
        (use->written ? s.writes : s.reads)
            .push_back({{p.kind, p.index, base[m] + use->first_byte}, use->bytes, use->memory});
      ++use;
    }
  };
  for (runtime::Step& step : plan_.steps)
    each_base(step, place_buffers);
  INVARIANT(use == uses_.end(), "a step has more arrays than its launches have buffers");
}

}  // namespace sheaf::memory
