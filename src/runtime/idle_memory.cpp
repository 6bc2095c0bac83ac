#include "runtime/idle_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/mutex.h"
#include "tensor/device_copies.h"

namespace sheaf::runtime {
namespace {

struct State {
  Mutex mu;
  int uses GUARDED_BY(mu) = 0;
  std::set<Executable*> executables GUARDED_BY(mu);
};
State& state() {
  static auto* s = new State;
  return *s;
}

}  // namespace

OutOfDeviceMemory out_of_device_memory(const Space& space, size_t bytes, size_t in_use) {
  OutOfDeviceMemory out(ErrorKind::Runtime, fmt::format("out of memory: the device {} has no {} bytes, with {} in use",
                                                        space.name(), bytes, in_use));
  State& s = state();
  MutexLock lock(s.mu);
  const Executable* largest = nullptr;
  for (const Executable* e : s.executables)
    if (&e->space() == &space && (!largest || e->scratch_bytes() > largest->scratch_bytes())) largest = e;
  if (largest && largest->scratch_bytes() > 0)
    out.notes.push_back(fmt::format("of the compiled functions, the one at {} takes the most for itself: {} bytes",
                                    largest->span() ? place(largest->span()) : "an unknown line",
                                    largest->scratch_bytes()));
  return out;
}

bool free_idle_memory(Space& space) {
  State& s = state();
  MutexLock lock(s.mu);
  if (s.uses > 0) return false;
  bool freed = false;
  // Graphs hold addresses of copies.
  for (Executable* e : s.executables)
    if (&e->space() == &space) freed |= e->drop_graphs();
  return drop_device_copies(space) > 0 || freed;
}

void DeviceUse::enter() {
  State& s = state();
  MutexLock lock(s.mu);
  ++s.uses;
}
void DeviceUse::leave() {
  State& s = state();
  MutexLock lock(s.mu);
  --s.uses;
}

Executable::Executable() {
  State& s = state();
  MutexLock lock(s.mu);
  s.executables.insert(this);
}
void Executable::forget() {
  State& s = state();
  MutexLock lock(s.mu);
  s.executables.erase(this);
}

}  // namespace sheaf::runtime
