// Calling built-ins of one family without an evaluator: functions are NativeFn values.
#pragma once
#include <gtest/gtest.h>

#include "builtins/core/builtin.h"
#include "common/make_values.h"
#include "value/print.h"

namespace sheaf::builtins {

struct NativeCaller final : Caller {
  Value call(const Value& function, std::vector<Value> args) override {
    return static_cast<CallableObj*>(function.object())->invoke(*this, args);
  }
};

inline Value call_in(std::span<const BuiltinDef> family, std::string_view name, std::vector<Value> args) {
  static NativeCaller caller;
  for (const BuiltinDef& d : family) {
    if (d.name != name) continue;
    Call c{caller, args, {}, d};
    return d.run(c);
  }
  ADD_FAILURE() << "no built-in " << name;
  return {};
}

// Value::list({a, b}) would copy out of its initializer list and so share every item.
template <class... V>
std::vector<Value> values(V... v) {
  std::vector<Value> out;
  (out.push_back(std::move(v)), ...);
  return out;
}

inline Value ints(std::initializer_list<int64_t> xs) {
  std::vector<Value> out;
  for (int64_t x : xs)
    out.push_back(Value::integer(x));
  return Value::list(std::move(out));
}

using testing_values::message_of;

}  // namespace sheaf::builtins
