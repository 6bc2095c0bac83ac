// Short spellings of values for the tests of this folder.
#pragma once
#include <initializer_list>
#include <numeric>

#include "value/dict.h"
#include "value/value.h"

namespace sheaf::testing_values {

inline Value I(int64_t i) { return Value::integer(i); }
inline Value F(float f) { return Value::floating(f); }
inline Value S(std::string s) { return Value::string(std::move(s)); }
inline Value K(std::string_view s) { return Value::keyword(Name(s)); }
inline Value L(std::vector<Value> v) { return Value::list(std::move(v)); }
inline Value Tup(std::vector<Value> v) { return Value::tuple(std::move(v)); }
inline Value D(std::initializer_list<std::pair<const char*, Value>> entries) {
  std::vector<DictEntry> out;
  for (auto& [k, v] : entries) out.push_back({Name(k), v});
  return make_dict(std::move(out));
}

inline Tensor array(DType dtype, Dims sizes, const std::vector<double>& values) {
  Tensor t = empty_tensor(dtype, std::move(sizes));
  for (size_t i = 0; i < values.size(); ++i) store_double(dtype, t.bytes() + i * size_bytes(dtype), values[i]);
  return t;
}
inline Value T(DType dtype, Dims sizes, const std::vector<double>& values) {
  return Value::tensor(array(dtype, std::move(sizes), values));
}
inline Value f32(const std::vector<double>& values) {
  return T(DType::F32, {static_cast<int64_t>(values.size())}, values);
}
// 0, 1, 2 … in the given shape, i32.
inline Value iota(Dims sizes) {
  std::vector<double> v(checked_num_elems(sizes));
  std::iota(v.begin(), v.end(), 0.0);
  return T(DType::I32, std::move(sizes), v);
}

struct NamedFunction final : FunctionObj {
  std::string text;
  explicit NamedFunction(std::string t) : text(std::move(t)) {}
  const std::string& name() const override { return text; }
};
inline Value fn(std::string name) { return Value::object(Tag::Function, new NamedFunction(std::move(name))); }
inline Value builtin(std::string name) { return Value::object(Tag::Builtin, new NamedFunction(std::move(name))); }

struct KnownTrace final : TracedObj {
  Value now;
  std::string what;
  KnownTrace(Value v, std::string w) : now(std::move(v)), what(std::move(w)) {}
  Value concrete() const override { return now; }
  std::string describe() const override { return what; }
};
inline Value traced(Value now, std::string what) {
  return Value::object(Tag::Traced, new KnownTrace(std::move(now), std::move(what)));
}

// A value nested `depth` lists deep.
inline Value nested(int depth) {
  Value v = I(1);
  for (int i = 0; i < depth; ++i) v = L({v});
  return v;
}

}  // namespace sheaf::testing_values
