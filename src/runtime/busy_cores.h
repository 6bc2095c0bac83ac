// Scheduling hints that keep threads that wait for each other fast while other programs use the same cores.
#pragma once

namespace sheaf::runtime {

// Called by a thread between two jobs, when no other thread waits for it. Yields the core if the thread has run for
// some milliseconds since the last yield. The system preempts a thread at the end of its time slice; in the middle of a
// job, the other threads would then wait for as long as the other program runs. A thread that yields before that only
// misses jobs, which the others do without it.
void yield_core();

// Moves the calling thread to any other core that it may use. If every core is busy, the system puts a woken worker on
// the core of the thread that wakes it, and leaves it there: both cores look equally loaded. Does nothing if it moved
// the thread within the last millisecond.
void leave_core(int core);

// The core on which the calling thread runs.
int current_core();

}  // namespace sheaf::runtime
