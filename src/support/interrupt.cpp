#include "support/interrupt.h"

namespace sheaf {

std::atomic<bool> g_interrupted{false};

void heed_interrupt() {
  if (g_interrupted) throw StopError("Interrupted");
}

}  // namespace sheaf
