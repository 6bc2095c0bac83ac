#include "support/phases.h"

#include <chrono>

#include "support/mutex.h"

namespace sheaf {
namespace {

thread_local Phase* innermost = nullptr;

Mutex mu;
std::vector<PhaseTime> times GUARDED_BY(mu);

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Phase::Phase(const char* name) : name_(name), outer_(innermost), start_ns_(now_ns()) { innermost = this; }

Phase::~Phase() {
  int64_t ns = now_ns() - start_ns_;
  innermost = outer_;
  if (outer_) outer_->inside_ns_ += ns;
  MutexLock lock(mu);
  for (PhaseTime& t : times)
    if (t.name == name_) {
      ++t.count;
      t.ns += ns - inside_ns_;
      return;
    }
  times.push_back({name_, 1, ns - inside_ns_});
}

std::vector<PhaseTime> phase_times() {
  MutexLock lock(mu);
  return times;
}

}  // namespace sheaf
