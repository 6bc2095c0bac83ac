// What keeps threads that wait for each other fast while other programs use the same cores.
#pragma once

namespace sheaf::runtime {

// Called by a thread between two jobs, when nobody waits for it. Yields the core if the thread has run for some
// milliseconds since it last did. The system takes a core from a thread at the end of its time slice, wherever the
// thread is; in the middle of a job, the others would then wait as long as the other program runs. A thread that yields
// before that misses jobs that the others do without it.
void yield_core();

// Moves the calling thread to any other core that it may use. A worker that is woken while every core has work is put
// on the core of the thread that wakes it, and stays there: to the system both cores look equally full. Does nothing
// if it did so within the last millisecond.
void leave_core(int core);

// The core on which the calling thread runs.
int current_core();

}  // namespace sheaf::runtime
