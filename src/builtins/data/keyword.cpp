#include "builtins/data/keyword.h"

#include <fmt/format.h>

#include "builtins/core/missing.h"
#include "support/error.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

[[noreturn]] void not_a_dict(const std::string& key, const Value& v) {
  UserError e = runtime_error(fmt::format(":{}: expected a dict, got {}", key, type_name(v)));
  if (v.is_seq())
    e.hints.push_back(fmt::format("(map :{} xs) reads it from every item of a list", key));
  else if (v.is_nil())
    e.hints.push_back(fmt::format("nil is not an empty dict; where it may be nil, write (:{} (or d {{}}))", key));
  throw e;
}

}  // namespace

Value read_key(Name key, std::span<const Value> args) {
  if (args.empty() || args.size() > 2)
    throw runtime_error(fmt::format(":{}: expected 1 or 2 arguments, got {}", key.str(), args.size()))
        .hint(fmt::format("write (:{0} dict) or (:{0} dict default)", key.str()));
  if (!args[0].is_dict()) not_a_dict(key.str(), args[0]);
  const DictObj& dict = args[0].as_dict();
  if (const Value* found = dict.find(key)) return *found;
  if (args.size() > 1) return args[1];
  remember_missing_key(key, dict);
  return Value::nil();
}

}  // namespace sheaf::builtins
