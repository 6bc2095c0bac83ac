#include <algorithm>
#include <cmath>

#include "codegen/llvm/abi.h"
#include "runtime/thread_pool.h"
#include "support/mutex.h"

namespace sheaf::codegen::native {
namespace {

// The range of a thread should take at least this long; starting one costs about a microsecond.
constexpr double kRangeNs = 8000;
constexpr int64_t kLineElements = 64;  // fill whole cache lines for every dtype

void parallel(CallContext* c, RangeBody body, const void* captures, int64_t n, int64_t minimum, double ns) {
  int64_t grain = std::max(minimum, static_cast<int64_t>(std::min(1e15, kRangeNs / std::max(ns, 0.01))) + 1);
  // Rounds to whole cache lines: ranges then begin at a line if the array does.
  if (minimum >= kLineElements) grain = (grain + kLineElements - 1) / kLineElements * kLineElements;
  if (n < 2 * grain || runtime::num_threads() == 1) return body(c, captures, 0, n);
  Mutex mutex;
  int64_t first = INT64_MAX;
  loop::CheckRecord failed;
  runtime::parallel_for(
      n,
      [&](int64_t begin, int64_t end) {
        CallContext mine{c->services, c->buffers, c->sizes, c->calls};
        body(&mine, captures, begin, end);
        if (!mine.check.failed() && !mine.error) return;
        MutexLock lock(mutex);
        if (mine.error && !c->error) c->error = mine.error;
        if (mine.check.failed() && begin < first) first = begin, failed = mine.check;
      },
      grain);
  if (failed.failed() && !c->check.failed()) c->check = failed;
}

void fail(CallContext* c, int64_t site, int64_t payload) {
  if (!c->check.failed()) c->check = {static_cast<int32_t>(site), payload};
}

void fail_lanes(CallContext* c, int64_t first, int64_t count, const uint8_t* ok, const int64_t* payloads,
                int64_t site) {
  int64_t lane = 0;
  while (lane < count && ok[lane])
    ++lane;
  if (lane == count || first + lane >= c->pending_at) return;
  c->pending_at = first + lane;
  c->pending = {static_cast<int32_t>(site), payloads[lane]};
}

void end_region(CallContext* c) {
  if (c->pending_at == INT64_MAX) return;
  fail(c, c->pending.site, c->pending.payload);
  c->pending_at = INT64_MAX;
}

void call(CallContext* c, int64_t number, const int64_t* arguments) {
  const CallSite& site = c->calls[number];
  std::byte* buffers[kMaxCallBuffers];
  for (size_t i = 0; i < site.buffers.size(); ++i)
    buffers[i] = c->buffers[site.buffers[i]];
  try {
    site.routine({{buffers, site.buffers.size()}, site.arithmetic}, {arguments, site.num_arguments});
  } catch (...) {
    if (!c->error) c->error = std::current_exception();
  }
}

}  // namespace

const Services kServices{
    .parallel = parallel,
    .fail = fail,
    .fail_lanes = fail_lanes,
    .end_region = end_region,
    .call = call,
    .fmod_f32 = [](float a, float b) { return std::fmod(a, b); },
    .fmod_f64 = [](double a, double b) { return std::fmod(a, b); },
    .fma_f32 = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); },
    .fma_f64 = [](double a, double b, double c) { return __builtin_fma(a, b, c); },
};

}  // namespace sheaf::codegen::native
