// The structure is JSON: null, booleans, ints, floats and strings stand for themselves, arrays for lists. Any other
// value is an object with one member: t (the name of an array), d (a dict), u (a tuple), k (a keyword), f (a float that
// JSON cannot write), b (a string that is not UTF-8, in hexadecimal).
#include "formats/state_tree.h"

#include <fmt/format.h>

#include <cmath>

#include "formats/json.h"
#include "support/error.h"
#include "support/utf8.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::formats {
namespace {

// A dict takes two levels of JSON.
constexpr size_t kMaxDepth = kMaxJsonDepth, kMaxStructured = kMaxJsonDepth / 2 - 10;

std::string hex(const std::string& s) {
  std::string out;
  for (unsigned char c : s)
    out += fmt::format("{:02x}", c);
  return out;
}

std::string unhex(const std::string& s) {
  std::string out;
  if (s.size() % 2 != 0) throw runtime_error("its metadata hold half a byte");
  for (size_t i = 0; i < s.size(); i += 2) {
    int v = 0;
    for (char c : {s[i], s[i + 1]}) {
      int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) throw runtime_error("its metadata hold text that is not hexadecimal");
      v = v * 16 + digit;
    }
    out += static_cast<char>(v);
  }
  return out;
}

std::string float_structure(const Value& v) {
  double d = v.as_double();
  if (std::isnan(d)) return "{\"f\":\"nan\"}";
  if (std::isinf(d)) return d > 0 ? "{\"f\":\"inf\"}" : "{\"f\":\"-inf\"}";
  return write_json(v);
}

class Splitter {
 public:
  StateTree run(const Value& v) {
    bool empty_dict = v.is_dict() && v.as_dict().size() == 0;
    TreePath path;
    for (const Value* at = &v; at; at = path.next([&](const TreePath::Level& l) { close(*l.container); })) {
      if (path.size() > kMaxDepth) too_deep(kMaxDepth);
      deepest_ = std::max(deepest_, path.size());
      if (!path.empty()) begin_part(path.last());
      if (path.enter(*at, Nodes::Sequences))
        open(*at);
      else
        leaf(*at, path.text());
    }
    if (plain_ || empty_dict)
      out_.structure.clear();
    else if (deepest_ > kMaxStructured)
      too_deep(kMaxStructured);
    return std::move(out_);
  }

 private:
  [[noreturn]] static void too_deep(size_t limit) {
    throw runtime_error("safetensors: cannot serialize values nested deeper than " + std::to_string(limit) + " levels");
  }

  std::string add(const std::string& path, const char* bare_name, Tensor t) {
    std::string key = path.empty() ? bare_name : path;
    if (path.empty() || key == "__metadata__") plain_ = false;
    while (key == "__metadata__" || out_.arrays.count(key))
      key += '~', plain_ = false;
    out_.arrays.emplace(key, contiguous(t));
    return key;
  }

  // Numbers are also stored as arrays, for other programs; we read them from the structure.
  template <class Store>
  void number(const std::string& path, DType d, Store store, const std::string& text) {
    plain_ = false;
    Tensor t = empty_tensor(d, {});
    store(t.bytes_mut());
    add(path, "value", std::move(t));
    out_.structure += text;
  }

  void leaf(const Value& v, const std::string& path) {
    std::string& s = out_.structure;
    switch (v.tag()) {
      case Tag::Tensor: s += "{\"t\":" + write_json(Value::string(add(path, "tensor", v.as_tensor()))) + "}"; break;
      case Tag::Int: {
        DType d = v.as_int() == static_cast<int32_t>(v.as_int()) ? DType::I32 : DType::I64;
        number(path, d, [&](std::byte* p) { store_int(d, p, v.as_int()); }, std::to_string(v.as_int()));
        break;
      }
      case Tag::Float:
        number(path, DType::F32, [&](std::byte* p) { store_double(DType::F32, p, v.as_float()); }, float_structure(v));
        break;
      case Tag::Bool:
        number(
            path, DType::Bool, [&](std::byte* p) { store_int(DType::Bool, p, v.as_bool()); },
            v.as_bool() ? "true" : "false");
        break;
      case Tag::Nil: plain_ = false, s += "null"; break;
      case Tag::String:
        plain_ = false;
        s += is_utf8(v.as_string()) ? write_json(v) : "{\"b\":\"" + hex(v.as_string()) + "\"}";
        break;
      case Tag::Keyword: plain_ = false, s += "{\"k\":" + write_json(Value::string(v.as_keyword().str())) + "}"; break;
      case Tag::Traced: leaf(v.as_traced()->concrete(), path); break;
      default:
        throw runtime_error("safetensors: cannot serialize " + std::string(type_name(v)) +
                            " (only tensors and nested dicts/lists)");
    }
  }

  void open(const Value& v) {
    if (v.is_dict()) {
      const DictObj& d = v.as_dict();
      bool like_list = true;  // keys 0…n-1 would be read as a list; an empty dict has no array
      for (size_t i = 0; i < d.size(); ++i)
        like_list = like_list && d.find(Name(std::to_string(i)));
      if (like_list) plain_ = false;
    } else if (!v.is_list() || v.items().empty()) {
      plain_ = false;
    }
    out_.structure += v.is_dict() ? "{\"d\":{" : v.is_list() ? "[" : "{\"u\":[";
  }

  void begin_part(const TreePath::Level& container) {
    if (container.next > 1) out_.structure += ',';
    if (!container.entries) return;
    const std::string& key = container.entries[container.next - 1].key.str();
    if (key.empty() || key.find('.') != std::string::npos || !is_utf8(key)) plain_ = false;
    out_.structure += write_json(Value::string(key)) + ":";
  }

  void close(const Value& v) { out_.structure += v.is_dict() ? "}}" : v.is_list() ? "]" : "]}"; }

  StateTree out_;
  bool plain_ = true;
  size_t deepest_ = 0;
};

Value join(const Value& v, const std::map<std::string, Value>& arrays) {
  if (v.is_list()) {
    std::vector<Value> items;
    for (const Value& x : v.items())
      items.push_back(join(x, arrays));
    return Value::list(std::move(items));
  }
  if (!v.is_dict()) return v;
  if (v.as_dict().size() != 1) throw runtime_error("its metadata are damaged");
  const DictEntry& e = v.as_dict().entries()[0];
  const std::string& kind = e.key.str();
  if (kind == "d" && e.value.is_dict()) {
    std::vector<DictEntry> entries;
    for (const DictEntry& x : e.value.as_dict().entries())
      entries.push_back({x.key, join(x.value, arrays)});
    return make_dict(std::move(entries));
  }
  if (kind == "u" && e.value.is_list()) {
    Value list = join(e.value, arrays);
    return Value::tuple({list.items().begin(), list.items().end()});
  }
  if (!e.value.is_string()) throw runtime_error("its metadata are damaged");
  const std::string& text = e.value.as_string();
  if (kind == "t") {
    auto it = arrays.find(text);
    if (it == arrays.end()) throw runtime_error("its metadata name an array '" + text + "' that is not there");
    return it->second;
  }
  if (kind == "k") return Value::keyword(Name(text));
  if (kind == "b") return Value::string(unhex(text));
  if (kind == "f") return Value::floating(text == "nan" ? NAN : text == "inf" ? HUGE_VALF : -HUGE_VALF);
  throw runtime_error("its metadata are damaged");
}

}  // namespace

StateTree split_state(const Value& v) { return Splitter().run(v); }

Value join_state(std::string_view structure, const std::map<std::string, Value>& arrays) {
  return join(parse_json(structure, {.tagged = false}), arrays);
}

}  // namespace sheaf::formats
