#include "support/large_stack.h"

#include <system_error>

#include "support/error.h"

namespace sheaf {

void LargeStackThread::start(std::function<void()> body) {
  INVARIANT(!running_, "the thread runs already");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kLargeStackBytes);
  auto* owned = new std::function<void()>(std::move(body));
  auto main = [](void* p) -> void* {
    auto* f = static_cast<std::function<void()>*>(p);
    (*f)();
    delete f;
    return nullptr;
  };
  int status = pthread_create(&thread_, &attributes, main, owned);
  pthread_attr_destroy(&attributes);
  if (status != 0) {
    delete owned;
    throw std::system_error(status, std::generic_category(), "cannot start a thread");
  }
  running_ = true;
}

void LargeStackThread::join() {
  if (!running_) return;
  pthread_join(thread_, nullptr);
  running_ = false;
}

}  // namespace sheaf
