#include <algorithm>
#include <cstring>

#include "codegen/block/program.h"
#include "runtime/thread_pool.h"
#include "support/mutex.h"

namespace sheaf::codegen::block {
namespace {

// The range of a thread should take at least this long; starting one costs about a microsecond.
constexpr double kRangeNs = 8000;

// A stack of frames per thread, kept between runs: a run allocates nothing once the thread has seen the largest frame.
class Frame {
 public:
  explicit Frame(size_t bytes) : bytes_((bytes + 63) / 64 * 64) {
    Stack& s = stack();
    if (s.used + bytes_ > s.capacity) {
      if (s.used == 0) {
        s.grow(bytes_);
      } else {
        own_.reset(new (std::align_val_t(64)) std::byte[bytes_]);  // a nested run; the stack is still too small
        data_ = own_.get();
        s.wanted = std::max(s.wanted, s.used + bytes_);
        return;
      }
    }
    data_ = s.memory.get() + s.used;
    s.used += bytes_;
  }
  ~Frame() {
    if (!own_) stack().used -= bytes_;
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  std::byte* data() const { return data_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  struct Stack {
    std::unique_ptr<std::byte[], Free> memory;
    size_t capacity = 0, used = 0, wanted = 0;
    void grow(size_t bytes) {
      capacity = std::max({bytes, wanted, 2 * capacity, size_t{64} << 10});
      memory.reset();
      memory.reset(new (std::align_val_t(64)) std::byte[capacity]);
    }
  };
  static Stack& stack() {
    static thread_local Stack s;
    return s;
  }
  std::unique_ptr<std::byte[], Free> own_;
  std::byte* data_;
  size_t bytes_;
};

RunState make_run_state(const BlockProgram& p, std::byte* frame, std::byte* const* buffers, loop::CheckRecord* check) {
  auto** address = reinterpret_cast<std::byte**>(frame);
  const int64_t* offsets = p.offsets.data();
  for (size_t i = 0; i < p.num_ids; ++i)
    address[i] = frame + offsets[i];
  return {address, 1, 0, frame + p.tail_at, buffers, RunState::kNone, false, {}, check, &p};
}

inline int64_t integer(RunState& c, Id id) { return *reinterpret_cast<const int64_t*>(c.address[id]); }
inline void set_integer(RunState& c, Id id, int64_t x) { *reinterpret_cast<int64_t*>(c.address[id]) = x; }
inline void run_steps(const Steps& steps, RunState& c) {
  for (const BlockStep& s : steps)
    s.run(s, c);
}

// Runs the body for every chunk of [begin, end), and each(at, count) after it.
template <class Each>
inline void chunks(const BlockStep& s, RunState& c, int64_t begin, int64_t end, Each each) {
  if (begin >= end) return;
  run_steps(s.prologue, c);
  c.in_chunk = true;
  for (int64_t at = begin; at < end; at += kChunk) {
    c.start = at;
    c.count = std::min(kChunk, end - at);
    run_steps(s.body, c);
    each(at, c.count);
    if (c.failed_lane != RunState::kNone) [[unlikely]] {
      if (!c.check->failed()) *c.check = c.pending;
      c.failed_lane = RunState::kNone;
    }
  }
  c.in_chunk = false;
  c.count = 1;
  c.start = 0;
}

void serial(const BlockStep& s, RunState& c, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    set_integer(c, s.out, i);
    run_steps(s.body, c);
  }
}

// The least number of iterations that pays for a thread.
int64_t grain_of(const Cost& cost, RunState& c) {
  double ns = 0;
  for (const Cost::Term& t : cost.terms) {
    double x = t.ns;
    for (Id e : t.extents)
      x *= static_cast<double>(integer(c, e));
    ns += x;
  }
  return static_cast<int64_t>(std::min(1e15, kRangeNs / std::max(ns, 0.01))) + 1;
}

// Every range has a frame of its own; its scalars are copied from the caller's frame.
template <class Range>
void parallel(const BlockStep& s, RunState& c, int64_t minimum, Range range) {
  int64_t n = integer(c, s.a);
  int64_t grain = std::max(minimum, grain_of(*s.cost, c));
  if (n < 2 * grain || runtime::num_threads() == 1) return range(c, 0, n);
  const BlockProgram& p = *c.program;
  const std::byte* scalars = reinterpret_cast<const std::byte*>(c.address) + p.scalars_at;
  Mutex mutex;
  int64_t first = INT64_MAX;
  loop::CheckRecord failed;
  runtime::parallel_for(
      n,
      [&](int64_t begin, int64_t end) {
        Frame frame(p.frame_bytes);
        loop::CheckRecord check;
        RunState mine = make_run_state(p, frame.data(), c.buffers, &check);
        std::memcpy(frame.data() + p.scalars_at, scalars, p.scalars.size() * sizeof(uint64_t));
        range(mine, begin, end);
        if (check.failed()) {
          MutexLock lock(mutex);
          if (begin < first) first = begin, failed = check;
        }
      },
      grain);
  if (failed.failed() && !c.check->failed()) *c.check = failed;
}

}  // namespace

void run_serial(const BlockStep& s, RunState& c) { serial(s, c, 0, integer(c, s.a)); }
void run_chunks(const BlockStep& s, RunState& c) {
  chunks(s, c, 0, integer(c, s.a), [](int64_t, int64_t) {});
}
void run_parallel_serial(const BlockStep& s, RunState& c) {
  parallel(s, c, 1, [&](RunState& mine, int64_t begin, int64_t end) { serial(s, mine, begin, end); });
}
void run_parallel_chunks(const BlockStep& s, RunState& c) {
  parallel(s, c, kChunk,
           [&](RunState& mine, int64_t begin, int64_t end) { chunks(s, mine, begin, end, [](int64_t, int64_t) {}); });
}

void run_reduce(const BlockStep& s, RunState& c) {
  std::byte* state = c.frame + s.own;
  int64_t n = integer(c, s.a);
  s.reducer->init(state);
  for (int64_t i = 0; i < n; ++i) {
    set_integer(c, s.c, i);
    run_steps(s.body, c);
    s.reducer->add(state, c.address[s.b], i, c.count);
  }
  s.reducer->finish(state, c.address[s.out], n, c.count);
}

void run_reduce_chunks(const BlockStep& s, RunState& c) {
  std::byte* state = c.frame + s.own;
  int64_t n = integer(c, s.a);
  s.reducer->init(state);
  chunks(s, c, 0, n, [&](int64_t at, int64_t count) { s.reducer->add(state, c.address[s.b], at, count); });
  s.reducer->finish(state, c.address[s.out], n, 1);
}

void run_call(const BlockStep& s, RunState& c) {
  const CallSite& site = *s.call;
  std::byte* buffers[kMaxCallBuffers];
  int64_t arguments[kMaxCallArguments];
  for (size_t i = 0; i < site.buffers.size(); ++i)
    buffers[i] = c.buffers[site.buffers[i]];
  for (size_t i = 0; i < site.arguments.size(); ++i)
    arguments[i] = integer(c, site.arguments[i]);
  site.routine({{buffers, site.buffers.size()}, c.program->arithmetic}, {arguments, site.arguments.size()});
}

void execute(const BlockProgram& p, std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
             loop::CheckRecord& check) {
  Frame frame(p.frame_bytes);
  RunState c = make_run_state(p, frame.data(), buffers.data(), &check);
  std::memcpy(frame.data() + p.scalars_at, p.scalars.data(), p.scalars.size() * sizeof(uint64_t));
  for (size_t i = 0; i < p.sizes.size(); ++i)
    if (p.sizes[i] != kNoId) set_integer(c, p.sizes[i], sizes[i]);
  run_steps(p.body, c);
}

}  // namespace sheaf::codegen::block
