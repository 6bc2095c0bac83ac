#include "eval/destructure.h"

#include <fmt/format.h>

#include "builtins/core/missing.h"
#include "builtins/core/numeric.h"
#include "builtins/core/warnings.h"
#include "trace/jit.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::eval {

void destructure(const Value& v, std::span<Value> out, Value* rest) {
  auto too_few = [&](size_t n) {
    if (n < out.size())
      throw runtime_error("let destructuring: arity mismatch")
          .hint(fmt::format("{} names for {} values", out.size(), n));
  };
  std::vector<Value> extra;
  if (v.is_seq()) {
    const auto& items = v.items();
    too_few(items.size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = items[i];
    if (rest) extra.assign(items.begin() + out.size(), items.end());
  } else if (builtins::is_tensor_value(v)) {
    graph::Operand x = trace::operand_of(v);
    if (x.rank() != 1)
      throw runtime_error("let destructuring: expected a list or tuple, got tensor with shape " +
                          shape_text(x.sizes()));
    size_t n = static_cast<size_t>(x.size(0).value());
    too_few(n);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = builtins::row_value(x, i);
    if (rest)
      for (size_t i = out.size(); i < n; ++i)
        extra.push_back(builtins::row_value(x, i));
  } else {
    throw runtime_error("let destructuring: expected a list or tuple, got " + std::string(type_name(v)));
  }
  if (rest) *rest = Value::list(std::move(extra));
}

Value param_field(std::span<const Value> dicts, Name key, const Value* global, Span span) {
  const Value& dict = dicts.front();
  if (!dict.is_dict())
    throw runtime_error(
        fmt::format("get: expected a dict, a tensor, or a list, got {} (key: :{})", type_name(dict), key.str()))
        .hint(fmt::format("'{}' is read as a field of the with-params dict", key.str()));
  for (const Value& d : dicts)
    if (const Value* v = d.is_dict() ? d.as_dict().find(key) : nullptr) return *v;
  if (global && !global->is_nil() && global->tag() != Tag::Unbound) return trace::global_value(*global);
  if (builtins::is_strict(span.source)) throw runtime_error(fmt::format("with-params: no field :{}", key.str()));
  builtins::remember_missing_key(key, dict.as_dict(), span);
  return Value::nil();
}

}  // namespace sheaf::eval
