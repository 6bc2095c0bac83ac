// The process's worker threads. Any thread may call parallel_for; one call at a time has the workers, and a call that
// finds them busy, or comes from inside another parallel_for, runs on its caller. No thread starts before the first
// call that can use one. Workers never touch counted objects.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace sheaf::runtime {

// A reference to something callable; valid while that lives.
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

// Threads a parallel_for uses, the caller included: the cores that the process may use, unless set.
int num_threads();
void set_num_threads(int n);

// Calls body(begin, end) on disjoint ranges that cover [0, n), each of at least `grain` iterations (but the last).
// Iterations of the same part of the range are mostly done by the same thread, call after call. Returns when all are
// done; the first exception that a range threw is thrown again here.
void parallel_for(int64_t n, function_ref<void(int64_t begin, int64_t end)> body, int64_t grain);

}  // namespace sheaf::runtime
