// Values that only the tests of this folder need.
#pragma once
#include <numeric>

#include "common/make_values.h"

namespace sheaf::testing_values {

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
  for (int i = 0; i < depth; ++i)
    v = L({v});
  return v;
}

}  // namespace sheaf::testing_values
