// Short spellings of values, for tests.
#pragma once
#include <string>
#include <vector>

#include "support/error.h"
#include "value/dict.h"
#include "value/value.h"

namespace sheaf::testing_values {

inline Value I(int64_t i) { return Value::integer(i); }
inline Value F(float f) { return Value::floating(f); }
inline Value S(std::string s) { return Value::string(std::move(s)); }
inline Value K(std::string_view s) { return Value::keyword(Name(s)); }
inline Value L(std::vector<Value> v) { return Value::list(std::move(v)); }
inline Value Tup(std::vector<Value> v) { return Value::tuple(std::move(v)); }
inline Value D(std::vector<std::pair<const char*, Value>> entries) {
  std::vector<DictEntry> out;
  for (auto& [k, v] : entries)
    out.push_back({Name(k), v});
  return make_dict(std::move(out));
}

inline Tensor array(DType dtype, Dims sizes, const std::vector<double>& values) {
  Tensor t = empty_tensor(dtype, std::move(sizes));
  for (size_t i = 0; i < values.size(); ++i)
    store_double(dtype, t.bytes_mut() + i * size_bytes(dtype), values[i]);
  return t;
}
inline Value T(DType dtype, Dims sizes, const std::vector<double>& values) {
  return Value::tensor(array(dtype, std::move(sizes), values));
}

// The message of the user error that f raises.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.message;
  }
  return "no error";
}

}  // namespace sheaf::testing_values
