#include "support/interrupt.h"

#include "support/mutex.h"

namespace sheaf {

std::atomic<bool> g_interrupted{false};

namespace {

struct Reason {
  Mutex mu;
  std::string message GUARDED_BY(mu);
};
Reason& reason() {
  static auto* r = new Reason;
  return *r;
}

}  // namespace

void stop_with(const std::string& message) {
  MutexLock lock(reason().mu);
  reason().message = message;
  g_interrupted = true;
}

void clear_stop() {
  MutexLock lock(reason().mu);
  reason().message.clear();
  g_interrupted = false;
}

StopError stop_error() {
  MutexLock lock(reason().mu);
  return reason().message.empty() ? StopError("Interrupted") : StopError(reason().message, false);
}

void heed_interrupt() {
  if (g_interrupted) throw stop_error();
}

}  // namespace sheaf
