// Dictionaries. An unshared dict is changed in place.
#include <fmt/format.h>

#include <unordered_set>

#include "builtins/core/elements.h"
#include "builtins/data/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

constexpr std::string_view kAssocArity = "assoc: expected (assoc dict key val ...)";

const DictObj& dict_argument(const Value& v, const char* who) {
  if (!v.is_dict()) throw runtime_error(fmt::format("{}: expected dict, got {}", who, type_name(v)));
  return v.as_dict();
}

Value dict(Call& c) {
  std::vector<DictEntry> entries;
  for (size_t i = 0; i + 1 < c.size(); i += 2)
    entries.push_back({dict_key(c[i]), std::move(c[i + 1])});
  return make_dict(std::move(entries));
}

Value assoc(Call& c) {
  if (c.size() % 2 == 0) throw runtime_error(std::string(kAssocArity));
  if (c[0].is_list()) {
    for (size_t i = 1; i < c.size(); i += 2)
      resolve_index(c[i], static_cast<int64_t>(c[0].items().size()));
    Value list = std::move(c[0]);
    auto& items = list.mutable_items();
    for (size_t i = 1; i < c.size(); i += 2)
      items[resolve_index(c[i], static_cast<int64_t>(items.size()))] = std::move(c[i + 1]);
    return list;
  }
  dict_argument(c[0], "assoc");
  for (size_t i = 1; i < c.size(); i += 2)
    dict_key(c[i]);
  Value d = std::move(c[0]);
  DictObj& out = d.mutable_dict();
  for (size_t i = 1; i < c.size(); i += 2)
    out.set(key_name(c[i]), std::move(c[i + 1]));
  return d;
}

Value dissoc(Call& c) {
  dict_argument(c[0], "dissoc");
  std::unordered_set<const Name::Entry*> gone;
  for (size_t i = 1; i < c.size(); ++i) {
    if (is_key(c[i])) {
      gone.insert(key_name(c[i]).entry());
      continue;
    }
    if (!c[i].is_seq()) throw runtime_error(fmt::format("dissoc: expected a list of keys, got {}", type_name(c[i])));
    for (const Value& k : c[i].items())
      gone.insert(dict_key(k).entry());
  }
  std::vector<DictEntry> kept;
  for (const DictEntry& e : c[0].as_dict().entries())
    if (!gone.count(e.key.entry())) kept.push_back(e);
  return make_dict(std::move(kept));
}

Value merge(Call& c) {
  Value out;
  for (Value& v : c.args) {
    if (v.is_nil()) continue;
    dict_argument(v, "merge");
    if (out.is_nil()) {
      out = std::move(v);
      continue;
    }
    DictObj& d = out.mutable_dict();
    for (const DictEntry& e : v.as_dict().entries())
      d.set(e.key, e.value);
  }
  return out.is_nil() ? empty_dict() : out;
}

Value keys(Call& c) {
  std::vector<Value> out;
  const DictObj& d = dict_argument(c[0], "keys");
  warn_numbered_keys(d);
  for (const DictEntry& e : d.entries())
    out.push_back(Value::string(e.key.str()));
  return Value::list(std::move(out));
}

Value vals(Call& c) {
  std::vector<Value> out;
  const DictObj& d = dict_argument(c[0], "vals");
  warn_numbered_keys(d);
  for (const DictEntry& e : d.entries())
    out.push_back(e.value);
  return Value::list(std::move(out));
}

const BuiltinDef kBuiltins[] = {
    {"dict",
     "Dictionaries",
     "(dict k v …)",
     "A dict of the given keys (keywords or strings) and values; a last key without a value is ignored.",
     {{"(dict :b 2 \"a\" 1)", "{:a 1, :b 2}"}},
     0,
     -1,
     dict},
    {"assoc",
     "Dictionaries",
     "(assoc d k v …)",
     "The dict with the keys set, or the list with the items at the indices replaced.",
     {{"(assoc {:a 1} :b 2)", "{:a 1, :b 2}"}, {"(assoc '[7 8] 0 5)", "[5, 8]"}},
     3,
     -1,
     assoc,
     {},
     Effect::None,
     kAssocArity},
    {"dissoc",
     "Dictionaries",
     "(dissoc d keys)",
     "The dict without the given keys: a list of them, or keys one after another. Absent keys are ignored.",
     {{"(dissoc {:a 1 :b 2 :c 3} [:a :c])", "{:b 2}"}},
     2,
     -1,
     dissoc},
    {"merge",
     "Dictionaries",
     "(merge d …)",
     "All entries of the dicts; later ones win. nil counts as empty.",
     {{"(merge {:a 1 :b 2} {:b 3})", "{:a 1, :b 3}"}},
     0,
     -1,
     merge},
    {"keys",
     "Dictionaries",
     "(keys d)",
     "The keys in order, as strings.",
     {{"(keys {:q 1 :b 2})", "['b', 'q']"}},
     1,
     1,
     keys},
    {"vals",
     "Dictionaries",
     "(vals d)",
     "The values in the order of the keys.",
     {{"(vals {:q 1 :b \"x\"})", "['x', 1]"}},
     1,
     1,
     vals},
};

}  // namespace

std::span<const BuiltinDef> dict_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
