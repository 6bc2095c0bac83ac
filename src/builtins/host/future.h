// Computation on another thread: (future e) and (await f).
#pragma once
#include "builtins/core/builtin.h"

namespace sheaf::builtins {

Value start_future(Call& c);
Value await_future(Call& c);

// The evaluator of the calling thread; set by the evaluator.
extern Caller& (*g_thread_caller)();

}  // namespace sheaf::builtins
