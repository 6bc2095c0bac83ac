// Short spellings of values for the tests of this folder.
#pragma once
#include <gtest/gtest.h>

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
  for (auto& [k, v] : entries) out.push_back({Name(k), v});
  return make_dict(std::move(out));
}
inline Value T(DType dtype, Dims sizes, const std::vector<double>& values) {
  Tensor t = empty_tensor(dtype, std::move(sizes));
  for (size_t i = 0; i < values.size(); ++i) store_double(dtype, t.bytes() + i * size_bytes(dtype), values[i]);
  return Value::tensor(std::move(t));
}

inline constexpr DType kAllTypes[] = {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32, DType::I64,
                                      DType::U32, DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16};

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
