#include "builtins/host/future.h"

#include <future>

#include "support/large_stack.h"
#include "value/print.h"

namespace sheaf::builtins {

Caller& (*g_thread_caller)() = nullptr;

namespace {

// The thread is joined at the last release: a program never ends with an unfinished future.
struct FutureObj final : Object {
  std::shared_future<Value> result;
  LargeStackThread thread;
};

}  // namespace

Value start_future(Call& c) {
  enable_atomic_counts();
  auto* f = new FutureObj;
  Value v = Value::object(Tag::Opaque, f);
  auto promise = std::make_shared<std::promise<Value>>();
  f->result = promise->get_future().share();
  f->thread.start([promise, thunk = c[1]] {
    try {
      promise->set_value(g_thread_caller().call(thunk, {}));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  });
  return v;
}

Value await_future(Call& c) {
  auto* f = c[0].tag() == Tag::Opaque ? dynamic_cast<FutureObj*>(c[0].object()) : nullptr;
  if (!f) throw runtime_error("await: expected a future, got " + std::string(type_name(c[0])));
  return f->result.get();
}

}  // namespace sheaf::builtins
