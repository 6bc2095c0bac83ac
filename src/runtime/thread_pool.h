// The process's worker threads. Any thread may call parallel_for. One call at a time gets the workers; a call that
// finds them busy, or that comes from inside another parallel_for, runs on its caller. Workers are started by the first
// call that can use them. They never touch reference-counted objects.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace sheaf::runtime {

// A non-owning reference to a callable; valid while the callable lives.
template <class>
class function_ref;
template <class R, class... Args>
class function_ref<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref>)
  function_ref(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))), call_([](void* o, Args... a) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(std::forward<Args>(a)...);
        }) {}
  R operator()(Args... a) const { return call_(object_, std::forward<Args>(a)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Threads that a parallel_for uses, including the caller. Default: the cores that the process may use.
int num_threads();
void set_num_threads(int n);

// Calls body(begin, end) on disjoint ranges that cover [0, n), each but the last of at least `grain` iterations. From
// call to call, the same part of [0, n) mostly runs on the same thread (cache affinity). Returns when all ranges are
// done; rethrows the first exception that a range threw.
void parallel_for(int64_t n, function_ref<void(int64_t begin, int64_t end)> body, int64_t grain);

}  // namespace sheaf::runtime
