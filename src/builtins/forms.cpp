// What special forms compile to, and raising errors.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "builtins/arrays/arrays.h"
#include "builtins/core/elements.h"
#include "builtins/core/missing.h"
#include "builtins/host/future.h"
#include "builtins/host/guard.h"
#include "builtins/host/output.h"
#include "runtime/device.h"
#include "tensor/complex_element.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

const DictObj& pattern_dict(const Value& v) {
  if (!v.is_dict()) throw runtime_error("let destructuring: expected a dict, got " + short_text(v));
  return v.as_dict();
}

Value field(Call& c) {
  const DictObj& dict = pattern_dict(c[0]);
  if (const Value* v = dict.find(c[1].as_keyword())) return *v;
  remember_missing_key(c[1].as_keyword(), dict);
  return Value::nil();
}

// The same of the options of a call: those that are not given are no mistake.
Value option(Call& c) {
  const Value* v = pattern_dict(c[0]).find(c[1].as_keyword());
  return v ? *v : Value::nil();
}

// The keyword arguments of a call as a dict; a keyword followed by another one, or by nothing, is a flag, but for those
// that take a keyword as their value. (%options arguments known who those)
Value options(Call& c) {
  const auto& rest = c[0].items();
  std::string who = c[2].as_string().empty() ? "fn" : c[2].as_string();
  std::vector<DictEntry> entries;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (!rest[i].is_keyword())
      throw caller_error(
          fmt::format("{}: unexpected argument {}; options are written :name value", who, short_text(rest[i])));
    Name name = rest[i].as_keyword();
    if (!c[1].is_nil()) {
      std::string known;
      bool found = false;
      for (const Value& k : c[1].items()) {
        found |= k.as_string() == name.str();
        known += (known.empty() ? ":" : " :") + k.as_string();
      }
      if (!found) throw caller_error(fmt::format("{}: unknown option :{}. Known options: {}", who, name.str(), known));
    }
    bool of_keyword = std::any_of(c[3].items().begin(), c[3].items().end(),
                                  [&](const Value& k) { return k.as_string() == name.str(); });
    bool flag = i + 1 == rest.size() || (rest[i + 1].is_keyword() && !of_keyword);
    entries.push_back({name, flag ? Value::boolean(true) : rest[++i]});
  }
  return make_dict(std::move(entries));
}

// The list, filled up with nils to a length.
Value padded(Call& c) {
  Value list = std::move(c[0]);
  while (static_cast<int64_t>(list.items().size()) < c[1].as_int())
    list.mutable_items().push_back(Value::nil());
  return list;
}

// Checks arguments against named shapes; the list of the sizes, in order of first appearance.
Value contract(Call& c) {
  std::string who = c[0].as_string();
  const auto& shapes = c[1].items();
  std::vector<std::pair<std::string, Size>> sizes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto& dims = shapes[i].items();
    std::string want;
    for (const Value& d : dims)
      want += (want.empty() ? "" : " ") + (d.is_string() ? d.as_string() : render(d));
    auto breached = [&](const std::string& why) {
      throw caller_error(
          fmt::format("{}: argument {} must have shape [{}], got {}{}", who, i + 1, want, short_text(c[2 + i]), why));
    };
    if (!is_tensor_value(c[2 + i])) breached("");
    Operand x = trace::operand_of(c[2 + i]);
    if (x.rank() != static_cast<int>(dims.size())) breached("");
    for (size_t a = 0; a < dims.size(); ++a) {
      if (!dims[a].is_string()) continue;
      Size n = x.size(static_cast<int>(a));
      auto it = std::find_if(sizes.begin(), sizes.end(), [&](auto& s) { return s.first == dims[a].as_string(); });
      if (it == sizes.end())
        sizes.push_back({dims[a].as_string(), n});
      else if (!(it->second == n))
        breached(fmt::format(" ({} is {} elsewhere, {} here)", it->first, it->second.str(), n.str()));
    }
  }
  std::vector<Value> out;
  for (auto& s : sizes)
    out.push_back(int_value(s.second));
  return Value::list(std::move(out));
}

Value guard(Call& c) {
  GuardCheck check;
  const std::string& name = c[0].as_keyword().str();
  check.kind = name == "range" ? GuardCheck::Range : name == "shape" ? GuardCheck::Shape : GuardCheck::NoNan;
  if (check.kind == GuardCheck::Range) {
    check.lo = c[1].items()[0].number();
    check.hi = c[1].items()[1].number();
  }
  if (check.kind == GuardCheck::Shape) check.dims = to_ints(c[1], "guard");
  auto message = breach(check, c[2]);
  if (!message) return c[2];
  GuardBreach b{check_text(check), *message, "", runtime_error("")};
  if (check.kind == GuardCheck::NoNan)
    b.where.hints.push_back("sheaf --guard no-nan FILE names the first function that returns such a value");
  throw b;
}

// The items of a collection as a list; ints from int tensors.
Value items(Call& c) {
  const Value& v = c[0];
  if (v.is_seq()) return Value::list(v.items_copy());
  std::vector<Value> out;
  if (is_tensor_value(v)) {
    Operand x = trace::operand_of(v);
    if (x.rank() == 0) throw runtime_error("cannot iterate over a 0-d tensor");
    bool ints = x.rank() == 1 && is_int(x.dtype());
    for (int64_t i = 0, n = x.size(0).value(); i < n; ++i) {
      if (ints && x.has_value())
        out.push_back(Value::integer(element_as_int(x.value(), i)));
      else
        out.push_back(row_value(x, i));
    }
  } else if (v.is_dict()) {
    warn_numbered_keys(v.as_dict());
    for (const DictEntry& e : v.as_dict().entries())
      out.push_back(e.value);
  } else if (!v.is_nil()) {
    throw runtime_error("cannot iterate over " + std::string(type_name(v)));
  }
  return Value::list(std::move(out));
}

Value raise(Call& c) {
  UserError e = runtime_error(c.size() > 0 ? (c[0].is_string() ? c[0].as_string() : render(trace::concrete_tree(c[0])))
                                           : "error");
  if (c.size() > 1) e.data = std::make_shared<const Value>(c[1]);
  throw e;
}

Value spy(Call& c) {
  Value v = trace::concrete_tree(c[1]);
  std::string text = c[0].as_string() + " = ";
  if (v.is_tensor()) {
    const Tensor& t = v.as_tensor();
    double lo = HUGE_VAL, hi = -HUGE_VAL, total = 0;
    int64_t n = t.num_elems();
    const Tensor elements = contiguous(t);
    for (int64_t i = 0; i < n; ++i) {
      double x = load_size(t.dtype, elements.bytes() + i * size_bytes(t.dtype));
      lo = std::min(lo, x);
      hi = std::max(hi, x);
      total += x;
    }
    text += tensor_type_text(t);
    if (n > 0) text += fmt::format(" min {:g} max {:g} mean {:g}", lo, hi, total / n);
    if (n <= 10) text += " " + render(v);
  } else {
    text += render(v);
  }
  write_out(text + "\n");
  return c[1];
}

Value is_true_form(Call& c) {
  Value v = c.caller.call(c[1], {});
  if (!is_true(v))
    throw runtime_error(fmt::format("is: {} gave {}", c[0].as_string(), render(trace::concrete_tree(v))));
  return Value::boolean(true);
}

Value throws(Call& c) {
  try {
    c.caller.call(c[1], {});
  } catch (const UserError&) {
    return Value::boolean(true);
  }
  throw runtime_error("throws: " + c[0].as_string() + " raised no error");
}

// Waits for the device before and after, so that the time is that of the forms.
Value time_it(Call& c) {
  runtime::wait_for_device();
  auto start = std::chrono::steady_clock::now();
  Value v = c.caller.call(c[1], {});
  runtime::wait_for_device();
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  write_out(fmt::format("{}: {:.3f} ms\n", c[0].as_string(), ms));
  return v;
}

const BuiltinDef kBuiltins[] = {
    {"error",
     "Errors",
     "(error message [data])",
     "Raises an error with the message; a catch clause gets the data as :data.",
     {{"(try (error \"no luck\") (catch e (get e :message)))", "no luck"}},
     0,
     2,
     raise},
    {"await",
     "Host",
     "(await f)",
     "The value of a future, waiting for it; raises its error if it failed.",
     {{"(await (future (+ 1 2)))", "3"}},
     1,
     1,
     await_future},
    {"%field", "", "", "", {}, 2, 2, field},
    {"%option", "", "", "", {}, 2, 2, option},
    {"%has-field",
     "",
     "",
     "",
     {},
     2,
     2,
     [](Call& c) { return Value::boolean(pattern_dict(c[0]).find(c[1].as_keyword()) != nullptr); }},
    {"%options", "", "", "", {}, 4, 4, options},
    {"%padded", "", "", "", {}, 2, 2, padded},
    {"%contract", "", "", "", {}, 2, -1, contract},
    {"%guard", "", "", "", {}, 3, 3, guard, {}, Effect::Watch},
    {"%items", "", "", "", {}, 1, 1, items},
    {"%spy", "", "", "", {}, 2, 2, spy, {}, Effect::Watch},
    {"%tap", "", "", "", {}, 2, 3, [](Call& c) { return c.args.back(); }, {}, Effect::Watch},
    {"%is", "", "", "", {}, 2, 2, is_true_form},
    {"%throws", "", "", "", {}, 2, 2, throws},
    {"%time-it", "", "", "", {}, 2, 2, time_it, {}, Effect::Input},
    {"%future", "", "", "", {}, 2, 2, start_future, {}, Effect::Input},
};

}  // namespace

std::span<const BuiltinDef> form_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
