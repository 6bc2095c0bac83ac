// Locks that clang's thread-safety analysis understands: those of the standard library carry no annotations. Every lock
// of this project is one of these, and every field or global that a lock protects says so with GUARDED_BY. `./x lint`
// compiles with -Wthread-safety -Werror; with other compilers the annotations are empty. At run time a Mutex is a
// std::mutex.
//
// A function that needs the caller to hold a lock is marked REQUIRES(mu). Wait for a condition in an explicit loop,
// where the analysis sees the lock: `while (!ready_) changed_.wait(mu_);`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define SHEAF_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define SHEAF_THREAD_SAFETY(...)
#endif

#define CAPABILITY(name) SHEAF_THREAD_SAFETY(capability(name))
#define SCOPED_CAPABILITY SHEAF_THREAD_SAFETY(scoped_lockable)
#define GUARDED_BY(mu) SHEAF_THREAD_SAFETY(guarded_by(mu))
#define PT_GUARDED_BY(mu) SHEAF_THREAD_SAFETY(pt_guarded_by(mu))  // protects what a pointer points to
#define REQUIRES(...) SHEAF_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) SHEAF_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) SHEAF_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) SHEAF_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) SHEAF_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) SHEAF_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
#define RETURN_CAPABILITY(mu) SHEAF_THREAD_SAFETY(lock_returned(mu))
#define NO_THREAD_SAFETY_ANALYSIS SHEAF_THREAD_SAFETY(no_thread_safety_analysis)  // say why

namespace sheaf {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mu_.lock(); }
  void unlock() RELEASE() { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Many readers or one writer.
class CAPABILITY("mutex") SharedMutex {
 public:
  void lock() ACQUIRE() { mu_.lock(); }
  void unlock() RELEASE() { mu_.unlock(); }
  void lock_shared() ACQUIRE_SHARED() { mu_.lock_shared(); }
  void unlock_shared() RELEASE_SHARED() { mu_.unlock_shared(); }

 private:
  std::shared_mutex mu_;
};

// Holds a Mutex until the end of its block.
class SCOPED_CAPABILITY [[nodiscard]] MutexLock {
 public:
  explicit MutexLock(Mutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.lock(); }
  ~MutexLock() RELEASE() { mu_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

class SCOPED_CAPABILITY [[nodiscard]] WriterLock {
 public:
  explicit WriterLock(SharedMutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.lock(); }
  ~WriterLock() RELEASE() { mu_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mu_;
};

class SCOPED_CAPABILITY [[nodiscard]] ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mu) ACQUIRE_SHARED(mu) : mu_(mu) { mu_.lock_shared(); }
  ~ReaderLock() RELEASE() { mu_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mu_;
};

// Waiting releases the lock meanwhile; spurious wakeups occur, as with std::condition_variable.
class CondVar {
 public:
  void wait(Mutex& mu) REQUIRES(mu) {
    std::unique_lock held(mu.mu_, std::adopt_lock);
    changed_.wait(held);
    held.release();
  }
  // Returns false on timeout.
  template <class Rep, class Period>
  bool wait_for(Mutex& mu, const std::chrono::duration<Rep, Period>& time) REQUIRES(mu) {
    std::unique_lock held(mu.mu_, std::adopt_lock);
    std::cv_status status = changed_.wait_for(held, time);
    held.release();
    return status == std::cv_status::no_timeout;
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace sheaf
