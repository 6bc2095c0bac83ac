// A thread that runs an action periodically for the lifetime of the object, such as watching memory.
#pragma once
#include <chrono>
#include <functional>
#include <thread>

#include "support/mutex.h"

namespace sheaf {

class PeriodicThread {
 public:
  // Runs the action immediately, then once per period.
  PeriodicThread(std::chrono::milliseconds period, std::function<void()> action)
      : thread_([this, period, action = std::move(action)] {
          MutexLock lock(mu_);
          while (!stop_) {
            action();
            wake_.wait_for(mu_, period);
          }
        }) {}
  ~PeriodicThread() {
    {
      MutexLock lock(mu_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  Mutex mu_;
  CondVar wake_;
  bool stop_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace sheaf
