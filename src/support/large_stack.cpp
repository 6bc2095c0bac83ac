#include "support/large_stack.h"

#include <sys/resource.h>

#include <cstring>
#include <memory>

#include "support/error.h"

namespace sheaf {
namespace {

thread_local double t_share = 1;

struct Start {
  std::function<void()> body;
  double share;
};

void* run(void* p) {
  std::unique_ptr<Start> start(static_cast<Start*>(p));
  t_share = start->share;
  start->body();
  return nullptr;
}

}  // namespace

size_t within_address_space(size_t bytes, size_t least) {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  while (bytes > least && bytes > limit.rlim_cur / 8)
    bytes /= 2;
  return bytes;
}

double stack_share() { return t_share; }

void LargeStackThread::start(std::function<void()> body) {
  INVARIANT(!running_, "the thread runs already");
  auto start = std::make_unique<Start>(std::move(body), 1);
  int status = EAGAIN;
  for (size_t bytes = within_address_space(kLargeStackBytes, kLeastStackBytes);
       status == EAGAIN && bytes >= kLeastStackBytes; bytes /= 2) {
    start->share = static_cast<double>(bytes) / kLargeStackBytes;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    status = pthread_create(&thread_, &attributes, run, start.get());
    pthread_attr_destroy(&attributes);
  }
  if (status != 0)
    throw runtime_error(std::string("cannot start a thread: ") + std::strerror(status))
        .hint("the limit on address space (ulimit -v) or on threads (ulimit -u) is too low");
  (void)start.release();  // the thread owns it
  running_ = true;
}

void LargeStackThread::join() {
  if (!running_) return;
  pthread_join(thread_, nullptr);
  running_ = false;
}

}  // namespace sheaf
