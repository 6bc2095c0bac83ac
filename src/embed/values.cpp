// Values behind handles: construction and access.
#include <new>

#include "embed/handle.h"
#include "value/dict.h"
#include "value/print.h"
#include "value/tree.h"

using sheaf::DictEntry;
using sheaf::Name;
using sheaf::Tag;
using sheaf::Value;
using sheaf::embed::new_handle;
using sheaf::embed::Owner;

namespace sheaf::embed {

sheaf_value* new_handle(Value v, Owner owner) noexcept { return new (std::nothrow) sheaf_value{std::move(v), owner}; }

Owner owner_of(const Value& v, Owner maker) {
  bool free = all_leaves(v, [](const Value& x) { return !x.is_object() || x.is_string() || x.is_tensor(); });
  return free ? 0 : maker;
}

namespace {

// No exception leaves the library: without memory the result is null.
template <class F>
sheaf_value* made(F&& f, Owner owner = 0) noexcept {
  try {
    return new_handle(f(), owner);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

sheaf_value* sequence(sheaf_value* const* items, size_t size, Value (*make)(std::vector<Value>)) {
  Owner owner = 0;
  for (size_t i = 0; i < size; ++i)
    owner = joined(owner, items[i]->owner);
  return made(
      [&] {
        std::vector<Value> all;
        all.reserve(size);
        for (size_t i = 0; i < size; ++i)
          all.push_back(items[i]->value);
        return make(std::move(all));
      },
      owner);
}

// A part of a value.
sheaf_value* part(const sheaf_value* whole, const Value& v) {
  return new_handle(v, whole->owner ? owner_of(v, whole->owner) : 0);
}

}  // namespace
}  // namespace sheaf::embed

using sheaf::embed::made;
using sheaf::embed::part;

sheaf_kind sheaf_kind_of(const sheaf_value* v) {
  switch (v->value.tag()) {
    case Tag::Nil: return SHEAF_NIL;
    case Tag::Bool: return SHEAF_BOOL;
    case Tag::Int: return SHEAF_INT;
    case Tag::Float: return SHEAF_FLOAT;
    case Tag::Keyword: return SHEAF_KEYWORD;
    case Tag::String: return SHEAF_STRING;
    case Tag::List: return SHEAF_LIST;
    case Tag::Tuple: return SHEAF_TUPLE;
    case Tag::Dict: return SHEAF_DICT;
    case Tag::Tensor: return SHEAF_TENSOR;
    case Tag::Function:
    case Tag::Builtin: return SHEAF_FUNCTION;
    case Tag::Marker:
    case Tag::Unbound:
    case Tag::Traced:
    case Tag::Atom:
    case Tag::Opaque: break;
  }
  return SHEAF_OTHER;
}

void sheaf_value_free(sheaf_value* v) { delete v; }
sheaf_value* sheaf_value_copy(const sheaf_value* v) { return new_handle(v->value, v->owner); }

sheaf_value* sheaf_nil() { return new_handle(Value(), 0); }
sheaf_value* sheaf_bool(int truth) { return new_handle(Value::boolean(truth != 0), 0); }
sheaf_value* sheaf_int(int64_t number) { return new_handle(Value::integer(number), 0); }
sheaf_value* sheaf_float(double number) { return new_handle(Value::floating_from(number), 0); }
sheaf_value* sheaf_string(const char* text, size_t size) {
  return made([&] { return Value::string(std::string(text, size)); });
}
sheaf_value* sheaf_keyword(const char* name) {
  return made([&] { return Value::keyword(Name(name)); });
}
sheaf_value* sheaf_list(sheaf_value* const* items, size_t size) {
  return sheaf::embed::sequence(items, size, Value::list);
}
sheaf_value* sheaf_tuple(sheaf_value* const* items, size_t size) {
  return sheaf::embed::sequence(items, size, Value::tuple);
}
sheaf_value* sheaf_dict(const char* const* keys, sheaf_value* const* values, size_t size) {
  Owner owner = 0;
  for (size_t i = 0; i < size; ++i)
    owner = sheaf::embed::joined(owner, values[i]->owner);
  return made(
      [&] {
        std::vector<DictEntry> entries;
        for (size_t i = 0; i < size; ++i)
          entries.push_back({Name(keys[i]), values[i]->value});
        return sheaf::make_dict(std::move(entries));
      },
      owner);
}

int sheaf_get_bool(const sheaf_value* v) { return v->value.is_bool() && v->value.as_bool(); }
int64_t sheaf_get_int(const sheaf_value* v) { return v->value.is_int() ? v->value.as_int() : 0; }
double sheaf_get_float(const sheaf_value* v) {
  return v->value.is_int() ? static_cast<double>(v->value.as_int()) : v->value.is_float() ? v->value.as_double() : 0;
}

const char* sheaf_get_text(const sheaf_value* v, size_t* size) {
  static const std::string none;
  bool has = v->value.is_string() || v->value.is_keyword();
  const std::string& text = v->value.is_string() ? v->value.as_string() : has ? v->value.as_keyword().str() : none;
  if (size) *size = text.size();
  return has ? text.c_str() : nullptr;
}

size_t sheaf_size(const sheaf_value* v) {
  return v->value.is_seq() ? v->value.items().size() : v->value.is_dict() ? v->value.as_dict().size() : 0;
}

sheaf_value* sheaf_item(const sheaf_value* v, size_t index) {
  if (index >= sheaf_size(v)) return nullptr;
  return part(v, v->value.is_seq() ? v->value.items()[index] : v->value.as_dict().entries()[index].value);
}

const char* sheaf_dict_key(const sheaf_value* d, size_t index) {
  return d->value.is_dict() && index < sheaf_size(d) ? d->value.as_dict().entries()[index].key.str().c_str() : nullptr;
}

sheaf_value* sheaf_dict_get(const sheaf_value* d, const char* key) {
  const Value* found = d->value.is_dict() ? d->value.as_dict().find(Name(key)) : nullptr;
  return found ? part(d, *found) : nullptr;
}

sheaf_value* sheaf_text_of(const sheaf_value* v) {
  return made([&] { return Value::string(sheaf::render(v->value)); });
}
