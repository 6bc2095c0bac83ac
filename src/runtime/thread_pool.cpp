#include "runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/busy_cores.h"
#include "support/cores.h"
#include "support/mutex.h"

namespace sheaf::runtime {
namespace {

// An idle worker spins for kSpin before it sleeps, so that consecutive launches find it awake. Going to sleep takes
// some 30 us more: 100 in all. While others still work on a job, the next one may come soon: that time does not count,
// up to kPatience.
constexpr auto kSpin = std::chrono::microseconds(60), kPatience = std::chrono::microseconds(2000);
// A thread claims 1/kPart of the rest of a share (guided scheduling): shrinking ranges balance unequal costs.
constexpr int64_t kPart = 4;
constexpr int kNoCore = -2;

inline void relax() {
#if defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` is a no-op on most cores; isb waits about as long as x86's pause
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The iterations that one thread does first.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

class Pool {
 public:
  static Pool& get() {
    static Pool* pool = new Pool;  // never destroyed: workers sleep until the process ends
    return *pool;
  }

  int limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(int n) { limit_.store(std::max(1, n), std::memory_order_relaxed); }

  void run(int64_t n, function_ref<void(int64_t, int64_t)> body, int64_t grain) {
    int threads = limit();
    if (threads == 1 || n <= grain || inside_range || busy_.exchange(true, std::memory_order_acquire))
      return body(0, n);
    threads = 1 + start_workers(threads - 1);
    body_ = &body;
    grain_ = grain;
    share_out(n, threads);
    members_ = threads - 1;
    caller_core_.store(threads <= cores_ ? current_core() : kNoCore, std::memory_order_relaxed);
    if (++last_job_ == 0) ++last_job_;
    open_.store(last_job_, std::memory_order_seq_cst);
    wake_some();
    work(0);
    // A worker increments inside_ before it checks that the job is still open, so none can enter after this store.
    open_.store(0, std::memory_order_seq_cst);
    for (int spins = 0; inside_.load(std::memory_order_seq_cst) != 0; ++spins)
      spins < 4000 ? relax() : std::this_thread::yield();
    std::exception_ptr error = take_error();
    busy_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
  }

 private:
  Pool() : cores_(cores_allowed()), limit_(cores_) {}

  // Needs no lock: no worker is inside any more.
  std::exception_ptr take_error() NO_THREAD_SAFETY_ANALYSIS { return std::exchange(error_, nullptr); }

  // Starts workers up to n, or as many as the system allows; returns their number.
  int start_workers(int n) {
    try {
      for (; started_ < n; ++started_)
        std::thread([this, index = started_] { worker(index); }).detach();
    } catch (const std::system_error&) {
    }
    return std::min(n, started_);
  }

  // Divides the iterations into one share per thread. A thread gets the same share of the next loop of equal length, so
  // that its data are in the caches near its core. Each share has a cache line of its own, and other threads claim from
  // it only when they are done with theirs.
  void share_out(int64_t n, int threads) {
    if (threads > allocated_) shares_ = std::make_unique<Share[]>(static_cast<size_t>(allocated_ = threads));
    const int64_t pieces = (n + grain_ - 1) / grain_;
    num_shares_ = static_cast<int>(std::min<int64_t>(threads, pieces));
    for (int64_t t = 0; t < num_shares_; ++t) {
      shares_[t].next.store(pieces * t / num_shares_ * grain_, std::memory_order_relaxed);
      shares_[t].end = std::min(n, pieces * (t + 1) / num_shares_ * grain_);
    }
  }

  // Claims and runs ranges until none is left, from the thread's own share first.
  void work(int thread) {
    inside_range = true;
    for (int t = 0; t < num_shares_; ++t)
      finish(shares_[(thread + t) % num_shares_]);
    inside_range = false;
  }

  void finish(Share& share) {
    for (;;) {
      int64_t begin = share.next.load(std::memory_order_relaxed), end;
      do {
        const int64_t part = (share.end - begin) / kPart / grain_ * grain_;
        end = std::min(share.end, begin + std::max(grain_, part));
      } while (begin < share.end && !share.next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
      if (begin >= share.end) return;
      try {
        (*body_)(begin, end);
      } catch (...) {
        MutexLock lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
        for (int t = 0; t < num_shares_; ++t)
          shares_[t].next.store(shares_[t].end, std::memory_order_relaxed);
      }
    }
  }

  // Wakes up to two workers, which wake others in turn: waking a thread takes microseconds, much longer on a virtual
  // machine.
  void wake_some() {
    for (int i = std::min(2, asleep_.load(std::memory_order_seq_cst)); i > 0; --i)
      open_.notify_one();
  }

  void worker(int index) {
    uint32_t done = 0;
    for (;;) {
      uint32_t job = wait_for_job(done);
      // Move before entering: once inside, the caller would wait for it, and another program may hold the new core.
      if (const int core = caller_core_.load(std::memory_order_relaxed); core == current_core()) leave_core(core);
      inside_.fetch_add(1, std::memory_order_seq_cst);
      if (open_.load(std::memory_order_seq_cst) == job && index < members_) work(index + 1);
      inside_.fetch_sub(1, std::memory_order_seq_cst);
      done = job;
      yield_core();
    }
  }

  uint32_t wait_for_job(uint32_t done) {
    const auto start = std::chrono::steady_clock::now();
    auto idle = start;  // when the last work was seen
    for (int spins = 0;; ++spins) {
      uint32_t job = open_.load(std::memory_order_acquire);
      if (job != 0 && job != done) return job;
      relax();
      if (spins % 64 != 63) continue;
      const auto now = std::chrono::steady_clock::now();
      if (now < start + kPatience && (job != 0 || inside_.load(std::memory_order_relaxed) != 0)) idle = now;
      if (now < idle + kSpin) continue;
      asleep_.fetch_add(1, std::memory_order_seq_cst);
      job = open_.load(std::memory_order_seq_cst);
      while (job == 0 || job == done) {
        open_.wait(job, std::memory_order_acquire);
        job = open_.load(std::memory_order_acquire);
      }
      asleep_.fetch_sub(1, std::memory_order_relaxed);
      wake_some();
      return job;
    }
  }

  static thread_local bool inside_range;

  const int cores_;
  std::atomic<int> limit_;
  std::atomic<bool> busy_{false};
  // Written by the caller that holds busy_ before it opens the job; read by workers that have entered it.
  function_ref<void(int64_t, int64_t)>* body_ = nullptr;
  int64_t grain_ = 1;
  std::unique_ptr<Share[]> shares_;
  int num_shares_ = 0, allocated_ = 0, members_ = 0, started_ = 0;
  uint32_t last_job_ = 0;
  Mutex error_mutex_;
  std::exception_ptr error_ GUARDED_BY(error_mutex_);
  alignas(64) std::atomic<uint32_t> open_{
      0};  // the job that may be entered, or 0; the size of a futex: with other sizes notify_one wakes all
  std::atomic<int> asleep_{0};
  std::atomic<int> caller_core_{kNoCore};   // core that opened the job, if there is a core for every thread
  alignas(64) std::atomic<int> inside_{0};  // workers that have entered
};

thread_local bool Pool::inside_range = false;

}  // namespace

int num_threads() { return Pool::get().limit(); }
void set_num_threads(int n) { Pool::get().set_limit(n); }

void parallel_for(int64_t n, function_ref<void(int64_t, int64_t)> body, int64_t grain) {
  if (n <= 0) return;
  Pool::get().run(n, body, std::max<int64_t>(grain, 1));
}

}  // namespace sheaf::runtime
